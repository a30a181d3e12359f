import { spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import ssh2, { type AuthHandlerMiddleware, type Client, type ConnectConfig } from 'ssh2';
import { UserError } from '../errors.ts';
import type { SshHop } from './ssh-config.ts';
import { errorLevel, errorMessage } from './ssh-errors.ts';
import { HostKeys } from './ssh-host-keys.ts';
import { type AskPassphrase, Identities } from './ssh-identities.ts';

export interface ConnectOptions {
  readonly askPassphrase?: AskPassphrase | undefined;
  /** Fingerprints that stand in for a missing known_hosts line. */
  readonly acceptedHostKeys?: readonly string[] | undefined;
  readonly keepAliveMs?: number | undefined;
}

/** Shorter ones drop good links under load; with three misses a dead link shows in a minute. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE_MISSES = 3;

/** A refusal that trying again cannot change: wrong key, unknown host, no common algorithm. */
export class SshRefusedError extends UserError {}

/** A live connection through all hops. */
export interface SshConnection {
  /** The client of the last hop. */
  readonly client: Client;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
  isOpen(): boolean;
  end(): void;
}

/**
 * Connects hop by hop, verifying every hop's host key.
 *
 * Throws SshRefusedError or UserError where another try is useless, the network's own error else.
 */
export async function connectHops(
  hops: readonly SshHop[],
  options: ConnectOptions,
): Promise<SshConnection> {
  const clients: Client[] = [];
  const endAll = () => {
    for (const client of [...clients].reverse()) client.end();
    for (const client of clients) client.destroy();
  };
  try {
    for (const hop of hops) {
      const previous = clients.at(-1);
      const socket = previous === undefined ? proxySocket(hop) : await forward(previous, hop);
      clients.push(await connectOne(hop, socket, options));
    }
  } catch (error) {
    endAll();
    throw error;
  }
  const client = clients.at(-1);
  if (client === undefined) throw new Error('an ssh connection needs a machine');
  let open = true;
  const closed = new Promise<void>((resolve) => {
    client.once('close', () => {
      open = false;
      endAll();
      resolve();
    });
  });
  return { client, closed, isOpen: () => open, end: endAll };
}

async function connectOne(
  hop: SshHop,
  socket: Duplex | undefined,
  options: ConnectOptions,
): Promise<Client> {
  const hostKeys = await HostKeys.read(hop, options.acceptedHostKeys ?? []);
  const identities = new Identities(hop, options.askPassphrase);
  const client = new ssh2.Client();
  let refusal: UserError | undefined;
  const algorithms = hostKeys.algorithms();
  const config: ConnectConfig = {
    host: hop.hostName,
    port: hop.port,
    username: hop.user,
    readyTimeout: hop.connectTimeoutSeconds * 1000,
    keepaliveInterval: options.keepAliveMs ?? KEEP_ALIVE_MS,
    keepaliveCountMax: KEEP_ALIVE_MISSES,
    hostVerifier: (key: Buffer) => {
      refusal = hostKeys.refusal(key);
      return refusal === undefined;
    },
    // ssh2 takes `false` for "nothing left to try"; its types do not say so.
    authHandler: identities.next as unknown as AuthHandlerMiddleware,
    ...(socket === undefined ? {} : { sock: socket }),
    ...(algorithms === undefined ? {} : { algorithms: { serverHostKey: algorithms } }),
  };
  await new Promise<void>((resolve, reject) => {
    client.once('ready', resolve);
    // Stays for good: an error without a listener would end the program.
    client.on('error', (error) => {
      reject(refusal ?? explained(error, hop, identities.notes));
    });
    client.once('close', () => {
      reject(refusal ?? new Error(`connection to ${hop.alias} lost before handshake`));
    });
    client.connect(config);
  }).catch((error: unknown) => {
    client.destroy();
    throw error;
  });
  return client;
}

/** Errors that another try cannot mend become refusals, with what was tried. */
function explained(error: Error, hop: SshHop, notes: readonly string[]): Error {
  if (errorLevel(error) === 'client-authentication') {
    const tried = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
    return new SshRefusedError(`${hop.user}@${hop.alias} refuses our keys${tried}`, {
      hint: `Check with: ssh -v -o BatchMode=yes ${hop.alias} true`,
      cause: error,
    });
  }
  if (/no matching|handshake failed/i.test(error.message)) {
    return new SshRefusedError(`no ssh connection to ${hop.alias}: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  return error;
}

async function forward(previous: Client, hop: SshHop): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    previous.forwardOut('127.0.0.1', 0, hop.hostName, hop.port, (error, channel) => {
      if (error === undefined) resolve(channel);
      else reject(error);
    });
  });
}

/** The user's ProxyCommand as a connection; undefined when there is none. */
function proxySocket(hop: SshHop): Duplex | undefined {
  if (hop.proxyCommand === undefined) return undefined;
  const proxy = spawn('/bin/sh', ['-c', `exec ${hop.proxyCommand}`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const socket = new Duplex({
    read: () => {
      proxy.stdout.resume();
    },
    write: (chunk: Buffer, _encoding, done) => {
      proxy.stdin.write(chunk, done);
    },
    final: (done) => {
      proxy.stdin.end(done);
    },
  });
  proxy.stdout.on('data', (chunk: Buffer) => {
    if (!socket.push(chunk)) proxy.stdout.pause();
  });
  proxy.stdout.once('end', () => socket.push(null));
  proxy.stdin.on('error', () => socket.destroy());
  proxy.once('error', (error) => socket.destroy(error));
  socket.once('close', () => proxy.kill());
  return socket;
}
