import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import type { Client, SFTPWrapper } from 'ssh2';
import { type Clock, systemClock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { CommandRequest, CommandResult, Host } from './host.ts';
import {
  type ChannelOutcome,
  endMarkedScript,
  followCommand,
  remoteCommandLine,
} from './ssh-command.ts';
import { resolveSshHops } from './ssh-config.ts';
import type { SshConnection } from './ssh-connect.ts';
import { errorMessage, HostUnreachableError } from './ssh-errors.ts';
import * as files from './ssh-files.ts';
import type { AskPassphrase } from './ssh-identities.ts';
import { ChannelLostError, SshLink } from './ssh-link.ts';

export interface SshHostOptions {
  /** Another ssh configuration file than the user's. */
  readonly configPath?: string | undefined;
  readonly askPassphrase?: AskPassphrase | undefined;
  /** Fingerprints (`SHA256:…`) accepted for hosts without a known_hosts line. */
  readonly acceptedHostKeys?: readonly string[] | undefined;
  readonly clock?: Clock | undefined;
  readonly patienceMs?: number | undefined;
  readonly firstPatienceMs?: number | undefined;
  readonly keepAliveMs?: number | undefined;
}

/** A port of this machine whose connections come out on the server. Disposing closes it. */
export interface ForwardedPort extends AsyncDisposable {
  readonly port: number;
}

/** A machine behind ssh. Disposing ends the connection and leaves what runs there alone. */
export interface SshHost extends Host, AsyncDisposable {
  /** Copies a file there: hash-checked, whole or not at all. Throws UserError with the reason. */
  putFile(localPath: string, path: string, options?: { readonly mode?: number }): Promise<void>;
  /** Copies a file from there: hash-checked, whole or not at all. */
  getFile(path: string, localPath: string): Promise<void>;
  /** Makes `host:port`, as the server sees it, reachable at a port of 127.0.0.1 here. */
  forwardPort(port: number, host?: string): Promise<ForwardedPort>;
  /** How often the link has broken: what went through a forwarded port meanwhile was cut. */
  linkLosses(): number;
  /** Median round trip of an empty command over the open connection, in ms. */
  roundTripMs(): Promise<number>;
}

const COMMAND_LIMIT_MS = 30_000;
const RUN_ATTEMPTS = 5;
const TRANSFER_ATTEMPTS = 3;
const ROUND_TRIP_SAMPLES = 5;

/**
 * Connects to a machine by the name that `ssh` knows it by. Throws UserError when it refuses us,
 * shows an unknown or changed host key, or cannot be reached.
 */
export async function openSshHost(name: string, options: SshHostOptions = {}): Promise<SshHost> {
  const hops = await resolveSshHops(name, { configPath: options.configPath });
  const clock = options.clock ?? systemClock;
  const host = new Ssh2Host(name, new SshLink(hops, { ...options, clock }), clock);
  await host.connect();
  return host;
}

class Ssh2Host implements SshHost {
  readonly name: string;
  readonly #link: SshLink;
  readonly #clock: Clock;

  constructor(name: string, link: SshLink, clock: Clock) {
    this.name = name;
    this.#link = link;
    this.#clock = clock;
  }

  async connect(): Promise<void> {
    await this.#link.connection();
  }

  async run(request: CommandRequest): Promise<CommandResult> {
    for (let run = 1; ; run += 1) {
      const marker = randomUUID();
      const outcome = await this.#execute(remoteCommandLine(request, marker), request);
      if (outcome !== 'lost') {
        if (outcome.timedOut) await this.#proveEnded(marker, request);
        return outcome;
      }
      // Whether it ran to its end is unknown; first it must not run any more.
      await this.#proveEnded(marker, request);
      if (request.repeatable === true && run < RUN_ATTEMPTS) continue;
      throw new HostUnreachableError(
        `the link to ${this.name} broke while "${request.argv[0] ?? ''}" ran there`,
      );
    }
  }

  async readText(path: string): Promise<string | undefined> {
    try {
      return await this.#transfer(async (sftp) => files.readRemote(sftp, path));
    } catch (error) {
      if (error instanceof UserError) throw error;
      throw new UserError(`cannot read ${path} on ${this.name}: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  async writeText(
    path: string,
    text: string,
    { mode = 0o644 }: { readonly mode?: number } = {},
  ): Promise<void> {
    try {
      await this.#makeFolder(dirname(path));
      await this.#transfer(async (sftp) => files.replaceRemoteText(sftp, path, text, mode));
    } catch (error) {
      throw await files.writeProblem(this, path, error, Buffer.byteLength(text));
    }
  }

  async putFile(
    localPath: string,
    path: string,
    { mode = 0o644 }: { readonly mode?: number } = {},
  ): Promise<void> {
    const size = await files.localSizeBytes(localPath);
    const wanted = await files.localSha256(localPath);
    const prove = async (draft: string) => {
      if ((await files.remoteSha256(this, draft)) !== wanted) {
        throw new UserError(`the copy of ${localPath} on ${this.name} is damaged`);
      }
    };
    try {
      await this.#makeFolder(dirname(path));
      await this.#transfer(async (sftp) =>
        files.replaceRemoteFile(sftp, localPath, path, mode, prove),
      );
    } catch (error) {
      throw await files.writeProblem(this, path, error, size);
    }
  }

  async getFile(path: string, localPath: string): Promise<void> {
    const wanted = await files.remoteSha256(this, path);
    if (wanted === undefined) throw new UserError(`cannot read ${path} on ${this.name}`);
    await this.#transfer(async (sftp) =>
      files.fetchRemoteFile(sftp, path, localPath, async (draft) => {
        if ((await files.localSha256(draft)) !== wanted) {
          throw new UserError(`the copy of ${path} from ${this.name} is damaged`);
        }
      }),
    );
  }

  async forwardPort(port: number, host = '127.0.0.1'): Promise<ForwardedPort> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      this.#link
        .connection()
        .then(({ client }) => {
          client.forwardOut('127.0.0.1', 0, host, port, (error, channel) => {
            if (error !== undefined) {
              socket.destroy();
              return;
            }
            channel.on('error', () => socket.destroy());
            channel.on('close', () => socket.destroy());
            socket.on('close', () => channel.destroy());
            socket.pipe(channel).pipe(socket);
          });
        })
        .catch(() => socket.destroy());
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port to forward');
    return {
      port: address.port,
      [Symbol.asyncDispose]: async () => {
        await new Promise<void>((resolve) => {
          server.close(() => {
            resolve();
          });
        });
      },
    };
  }

  linkLosses(): number {
    return this.#link.losses;
  }

  async roundTripMs(): Promise<number> {
    const samples: number[] = [];
    for (let sample = 0; sample < ROUND_TRIP_SAMPLES; sample += 1) {
      const startMs = this.#clock.nowMs();
      // Opening a channel that asks for nothing: no process starts, so only the way is measured.
      await this.#link.withChannel(
        async (client) => exec(client, ':', { argv: [], timeoutMs: COMMAND_LIMIT_MS }, this.#clock),
        async ({ outcome }) => outcome,
      );
      samples.push(this.#clock.nowMs() - startMs);
    }
    return samples.sort((a, b) => a - b)[Math.floor(ROUND_TRIP_SAMPLES / 2)] ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#link.end();
    await Promise.resolve();
  }

  async #execute(line: string, request: CommandRequest): Promise<CommandResult | 'lost'> {
    return this.#link
      .withChannel(
        async (client) => exec(client, line, request, this.#clock),
        async ({ outcome }) => outcome,
      )
      .catch(lostIfChannelWas);
  }

  /** Waits for the link where it broke, ends what carries the marker, throws if that is in vain. */
  async #proveEnded(marker: string, { argv }: CommandRequest): Promise<void> {
    for (;;) {
      const request: CommandRequest = { argv: [], timeoutMs: COMMAND_LIMIT_MS };
      const outcome = await this.#execute(endMarkedScript(marker), request);
      if (outcome === 'lost') continue;
      if (outcome.exitCode === 0) return;
      throw new UserError(
        `"${argv[0] ?? ''}" on ${this.name} cannot be ended: process ${outcome.stdout.trim()} is left`,
      );
    }
  }

  async #makeFolder(path: string): Promise<void> {
    const result = await this.run({
      argv: ['mkdir', '-p', '--', path],
      timeoutMs: COMMAND_LIMIT_MS,
      repeatable: true,
    });
    if (result.exitCode !== 0) {
      throw new UserError(`cannot make ${path} on ${this.name}: ${result.stderr.trim()}`);
    }
  }

  /** Runs file operations, from their start again when the link breaks in the middle. */
  async #transfer<T>(operate: (sftp: SFTPWrapper) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#link
        .withChannel(files.openSftp, async (sftp, connection) => {
          try {
            return { done: await unlessLost(operate(sftp), connection) };
          } finally {
            sftp.end();
          }
        })
        .catch((error: unknown) => ({ done: lostIfChannelWas(error) }));
      if (outcome.done !== LOST) return outcome.done;
      if (attempt >= TRANSFER_ATTEMPTS) {
        throw new HostUnreachableError(`the link to ${this.name} broke during each copy`);
      }
    }
  }
}

const LOST = 'lost';

/** A connection that ends while a channel opens is a broken link like any other. */
function lostIfChannelWas(error: unknown): typeof LOST {
  if (error instanceof ChannelLostError) return LOST;
  throw error;
}

/** SFTP calls never end when the connection breaks under them. */
async function unlessLost<T>(
  operation: Promise<T>,
  connection: SshConnection,
): Promise<T | typeof LOST> {
  const lost = connection.closed.then((): typeof LOST => LOST);
  try {
    return await Promise.race([operation, lost]);
  } catch (error) {
    if (!connection.isOpen()) return LOST;
    throw error;
  }
}

/**
 * Starts a command. It is followed from within ssh2's callback: a quick one has ended before a
 * promise could say that it began, and nobody would hear its exit code.
 */
async function exec(
  client: Client,
  line: string,
  request: CommandRequest,
  clock: Clock,
): Promise<{ readonly outcome: Promise<ChannelOutcome> }> {
  return new Promise((resolve, reject) => {
    client.exec(line, (error, channel) => {
      if (error !== undefined) reject(error);
      else resolve({ outcome: followCommand(channel, request, () => clock.nowMs()) });
    });
  });
}
