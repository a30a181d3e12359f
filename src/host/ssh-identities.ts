import { readFile } from 'node:fs/promises';
import ssh2, { type AuthenticationType, type IdentityCallback, type ParsedKey } from 'ssh2';
import type { SshHop } from './ssh-config.ts';
import { errorMessage } from './ssh-errors.ts';

/** One attempt to authenticate; false when there is nothing left to try. */
export type AuthAttempt =
  | { readonly type: 'agent'; readonly username: string; readonly agent: ssh2.OpenSSHAgent }
  | { readonly type: 'publickey'; readonly username: string; readonly key: ParsedKey }
  | false;

/** Asks for the passphrase of a key; undefined means: do without this key. */
export type AskPassphrase = (keyPath: string) => Promise<string | undefined>;

/** Holds the passphrase of an encrypted key for a run without a terminal. */
export const PASSPHRASE_VARIABLE = 'NIGHTSWEEP_SSH_PASSPHRASE';

/**
 * The ways to prove who we are to one machine, in order: agent keys that the configuration names,
 * other agent keys (unless IdentitiesOnly), then key files. A passphrase is asked for only when the
 * agent did not suffice, and is never stored. `notes` collects what was skipped and why.
 */
export class Identities {
  readonly notes: string[] = [];
  readonly #hop: SshHop;
  readonly #ask: AskPassphrase | undefined;
  #attempts: AsyncGenerator<AuthAttempt, undefined> | undefined;

  constructor(hop: SshHop, ask: AskPassphrase | undefined) {
    this.#hop = hop;
    this.#ask = ask;
  }

  /** Given to ssh2 as `authHandler`: called for each next attempt. */
  readonly next = (
    methodsLeft: readonly AuthenticationType[] | null,
    _partial: boolean | null,
    callback: (attempt: AuthAttempt) => void,
  ): void => {
    this.#attempts ??= this.#offer();
    if (methodsLeft !== null && !methodsLeft.includes('publickey')) {
      this.notes.push(`the server accepts only: ${methodsLeft.join(', ')}`);
      callback(false);
      return;
    }
    this.#attempts.next().then(
      ({ done, value }) => {
        callback(done === true ? false : value);
      },
      (error: unknown) => {
        this.notes.push(errorMessage(error));
        callback(false);
      },
    );
  };

  async *#offer(): AsyncGenerator<AuthAttempt, undefined> {
    const username = this.#hop.user;
    const offered = new Set<string>();
    const named = await this.#namedKeys();
    const agent = await this.#agentKeys(named);
    if (agent !== undefined) {
      for (const key of agent.keys) offered.add(key);
      if (agent.keys.length > 0) yield { type: 'agent', username, agent: agent.agent };
    }
    for (const { path, text, blob } of named) {
      if (text === undefined || (blob !== undefined && offered.has(blob))) continue;
      const key = await this.#unlock(path, text);
      if (key !== undefined) yield { type: 'publickey', username, key };
    }
    return undefined;
  }

  /** Key files of the configuration that exist, with their public part where it can be read. */
  async #namedKeys(): Promise<
    { path: string; text: string | undefined; blob: string | undefined }[]
  > {
    const keys = [];
    for (const path of this.#hop.identityFiles) {
      const text = await this.#read(path);
      const publicText = text === undefined ? undefined : await this.#read(`${path}.pub`);
      const blob = publicBlob(publicText) ?? (text === undefined ? undefined : embeddedBlob(text));
      if (text !== undefined) {
        // An IdentityFile may also be the public key of one that only the agent has.
        const isPublic = publicBlob(text) !== undefined;
        keys.push({ path, text: isPublic ? undefined : text, blob: blob ?? publicBlob(text) });
      }
    }
    return keys;
  }

  async #agentKeys(
    named: readonly { blob: string | undefined }[],
  ): Promise<{ agent: ssh2.OpenSSHAgent; keys: string[] } | undefined> {
    const socket = this.#hop.agentSocket;
    if (socket === undefined) return undefined;
    const wanted = new Set(named.flatMap(({ blob }) => (blob === undefined ? [] : [blob])));
    const agent = new OrderedAgent(socket, wanted, this.#hop.identitiesOnly);
    try {
      return { agent, keys: await agent.blobs() };
    } catch (error) {
      this.notes.push(`ssh agent not used: ${errorMessage(error)}`);
      return undefined;
    }
  }

  async #read(path: string): Promise<string | undefined> {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      // `ssh -G` lists the default names whether they exist or not.
      const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!missing) this.notes.push(`key ${path} not used: ${errorMessage(error)}`);
      return undefined;
    }
  }

  async #unlock(path: string, text: string): Promise<ParsedKey | undefined> {
    const open = ssh2.utils.parseKey(text);
    if (!(open instanceof Error)) return firstKey(open);
    if (!/encrypted|passphrase/i.test(open.message)) {
      this.notes.push(`key ${path} not used: ${open.message}`);
      return undefined;
    }
    const passphrase = process.env[PASSPHRASE_VARIABLE] ?? (await this.#ask?.(path));
    if (passphrase === undefined) {
      this.notes.push(`key ${path} not used: encrypted, and not in the agent`);
      return undefined;
    }
    const unlocked = ssh2.utils.parseKey(text, passphrase);
    if (!(unlocked instanceof Error)) return firstKey(unlocked);
    this.notes.push(`key ${path} not used: the passphrase does not open it`);
    return undefined;
  }
}

/** The user's agent, showing the keys named in the configuration first, or only those. */
class OrderedAgent extends ssh2.OpenSSHAgent {
  readonly #wanted: ReadonlySet<string>;
  readonly #only: boolean;

  constructor(socket: string, wanted: ReadonlySet<string>, only: boolean) {
    super(socket);
    this.#wanted = wanted;
    this.#only = only;
  }

  override getIdentities(callback: IdentityCallback<ParsedKey>): void {
    super.getIdentities((error, keys) => {
      const all = (keys ?? []).filter(isParsedKey);
      const isWanted = (key: ParsedKey) => this.#wanted.has(blobOf(key));
      const rest = this.#only ? [] : all.filter((key) => !isWanted(key));
      callback(error, [...all.filter(isWanted), ...rest]);
    });
  }

  /** Public keys in the order in which they will be offered, base64. */
  async blobs(): Promise<string[]> {
    return new Promise((resolve, reject) => {
      this.getIdentities((error, keys) => {
        if (error !== undefined && error !== null) reject(error);
        else resolve((keys ?? []).filter(isParsedKey).map(blobOf));
      });
    });
  }
}

function isParsedKey(key: object): key is ParsedKey {
  return 'getPublicSSH' in key;
}

function blobOf(key: ParsedKey): string {
  return Buffer.from(key.getPublicSSH()).toString('base64');
}

function firstKey(keys: ParsedKey | ParsedKey[]): ParsedKey | undefined {
  return Array.isArray(keys) ? keys[0] : keys;
}

/** The blob of a one-line public key (`ssh-ed25519 AAAA… comment`), base64. */
function publicBlob(text: string | undefined): string | undefined {
  return /^(?:ssh-|ecdsa-|sk-)\S+\s+(?<blob>[A-Za-z0-9+/=]+)/.exec(text ?? '')?.groups?.['blob'];
}

/** The public part of an OpenSSH private key file: readable also when the key is encrypted. */
function embeddedBlob(text: string): string | undefined {
  const body = /-----BEGIN OPENSSH PRIVATE KEY-----([\s\S]+?)-----END/.exec(text)?.[1];
  if (body === undefined) return undefined;
  const bytes = Buffer.from(body, 'base64');
  let at = 'openssh-key-v1\0'.length;
  const readString = () => {
    if (at + 4 > bytes.length) return Buffer.alloc(0);
    const length = bytes.readUInt32BE(at);
    const value = bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
    return value;
  };
  // Before the keys: cipher, kdf, kdf options, and the number of keys.
  for (let field = 0; field < 3; field += 1) readString();
  at += 4;
  const blob = readString();
  return blob.length === 0 ? undefined : blob.toString('base64');
}
