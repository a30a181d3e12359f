import { readFile } from 'node:fs/promises';
import type { ServerHostKeyAlgorithm } from 'ssh2';
import { UserError } from '../errors.ts';
import type { SshHop } from './ssh-config.ts';
import { errorCode } from './ssh-errors.ts';
import {
  checkHostKey,
  fingerprint,
  hostKeyOf,
  type KnownHostsFile,
  knownKeyTypes,
} from './ssh-known-hosts.ts';

/** Strongest first; `ssh-rsa` keys are proven with SHA-2 signatures only. */
const algorithmsOfType: Readonly<Record<string, readonly ServerHostKeyAlgorithm[]>> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
};

/** What the user knows about the keys of one hop. */
export class HostKeys {
  readonly #hop: SshHop;
  readonly #files: readonly KnownHostsFile[];
  readonly #accepted: readonly string[];

  private constructor(hop: SshHop, files: readonly KnownHostsFile[], accepted: readonly string[]) {
    this.#hop = hop;
    this.#files = files;
    this.#accepted = accepted;
  }

  /**
   * Reads the known_hosts files. A missing file is empty; one that cannot be read throws UserError,
   * as it might hold the line that says "revoked".
   *
   * @param accepted fingerprints (`SHA256:…`) that the user wrote down for hosts without a line.
   */
  static async read(hop: SshHop, accepted: readonly string[]): Promise<HostKeys> {
    const files = await Promise.all(
      hop.knownHostsFiles.map(async (path): Promise<KnownHostsFile> => {
        try {
          return { path, text: await readFile(path, 'utf8') };
        } catch (error) {
          if (errorCode(error) === 'ENOENT') return { path, text: '' };
          throw new UserError(
            `cannot read ${path}, so the host key of ${hop.alias} is not checked`,
            {
              cause: error,
            },
          );
        }
      }),
    );
    return new HostKeys(hop, files, accepted);
  }

  /** Algorithms to ask for: those of the known keys, or undefined (all) when none is known. */
  algorithms(): ServerHostKeyAlgorithm[] | undefined {
    const types = knownKeyTypes(this.#files, this.#name, this.#hop.port);
    const wanted = types.flatMap((type) => algorithmsOfType[type] ?? []);
    return wanted.length === 0 ? undefined : wanted;
  }

  /** Why the key that the server showed is refused; undefined when it is the known one. */
  refusal(blob: Buffer): UserError | undefined {
    const key = hostKeyOf(blob);
    const shown = `${key.type} ${fingerprint(blob)}`;
    const { hostName, port, alias } = this.#hop;
    const where = `${alias} (${hostName} port ${port})`;
    const verdict = checkHostKey(this.#files, this.#name, port, key);
    switch (verdict.state) {
      case 'known':
        return undefined;
      case 'revoked':
        return new UserError(`the host key of ${where} is revoked in ${verdict.place}: ${shown}`);
      case 'changed':
        return new UserError(
          `the host key of ${where} has changed: it shows ${shown}, ${verdict.place} has another`,
          {
            hint: `If the server was reinstalled, check the fingerprint at its console and remove the old line with: ssh-keygen -R ${JSON.stringify(port === 22 ? this.#name : `[${this.#name}]:${port}`)}`,
          },
        );
      case 'unknown':
        if (this.#accepted.includes(fingerprint(blob))) return undefined;
        return new UserError(`the host key of ${where} is not known: it shows ${shown}`, {
          hint: `Compare it with "ssh-keygen -lf" of the server's /etc/ssh/ssh_host_*_key.pub, then accept it once with: ssh ${alias} true`,
        });
    }
  }

  get #name(): string {
    return this.#hop.hostKeyAlias ?? this.#hop.hostName;
  }
}
