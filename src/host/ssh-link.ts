import type { Client } from 'ssh2';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { SshHop } from './ssh-config.ts';
import { type ConnectOptions, connectHops, type SshConnection } from './ssh-connect.ts';
import {
  errorCode,
  errorMessage,
  HostUnreachableError,
  isChannelRefusal,
  isNotConnected,
} from './ssh-errors.ts';

export interface LinkOptions extends ConnectOptions {
  readonly clock: Clock;
  /** How long a lost link is tried again before HostUnreachableError. Default 10 minutes. */
  readonly patienceMs?: number | undefined;
  /** The same for the very first connection. Default 60 seconds. */
  readonly firstPatienceMs?: number | undefined;
}

/** OpenSSH allows ten sessions on a connection; more than a few at once is never needed. */
const MAX_CHANNELS = 4;
const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 15_000;
const REFUSALS_ALLOWED = 20;
const LOSS_NEWS_MS = 20;

/** The connection ended while a channel was being opened: what was asked may have begun or not. */
export class ChannelLostError extends Error {}

/**
 * One connection, made when needed, kept, and made again when it broke.
 *
 * Channels queue: at most four at a time, fewer when the server turned out to allow fewer.
 */
export class SshLink {
  readonly #hops: readonly SshHop[];
  readonly #options: LinkOptions;
  #connection: SshConnection | undefined;
  #connecting: Promise<SshConnection> | undefined;
  #wasConnected = false;
  #ended = false;
  #openChannels = 0;
  #maxChannels = MAX_CHANNELS;
  #waiting: (() => void)[] = [];
  #losses = 0;

  constructor(hops: readonly SshHop[], options: LinkOptions) {
    this.#hops = hops;
    this.#options = options;
  }

  /** The live connection; connects, and waits out a broken link, when there is none. */
  async connection(): Promise<SshConnection> {
    if (this.#connection?.isOpen() === true) return this.#connection;
    this.#connecting ??= this.#connectPatiently().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /**
   * Opens a channel with `open` and runs `use` on it, in a free slot.
   *
   * A channel that the server refuses was not used, so it is tried again: later where others are
   * open, else on a new connection. Errors of `use` pass through.
   */
  async withChannel<C, T>(
    open: (client: Client) => Promise<C>,
    use: (channel: C, connection: SshConnection) => Promise<T>,
  ): Promise<T> {
    for (let refusals = 0; ; refusals += 1) {
      await this.#takeSlot();
      try {
        const connection = await this.connection();
        let channel: C;
        try {
          channel = await open(connection.client);
        } catch (error) {
          if (await this.#isLost(connection)) throw new ChannelLostError();
          const unused = isChannelRefusal(error) || isNotConnected(error);
          if (!unused || refusals >= REFUSALS_ALLOWED) throw error;
          this.#yieldTo(connection, error);
          continue;
        }
        return await use(channel, connection);
      } finally {
        this.#freeSlot();
      }
    }
  }

  /** How often an open connection ended without being told to. */
  get losses(): number {
    return this.#losses;
  }

  end(): void {
    this.#ended = true;
    this.#connection?.end();
  }

  /** An open channel's error comes a moment before the news that its connection has ended. */
  async #isLost(connection: SshConnection): Promise<boolean> {
    await Promise.race([connection.closed, this.#options.clock.sleep(LOSS_NEWS_MS)]);
    return !connection.isOpen();
  }

  /** After a refusal: fewer channels from now on, or a new connection if ours was the only one. */
  #yieldTo(connection: SshConnection, error: unknown): void {
    if (isChannelRefusal(error) && this.#openChannels > 1) {
      this.#maxChannels = Math.max(1, Math.min(this.#maxChannels, this.#openChannels - 1));
      return;
    }
    connection.end();
    if (this.#connection === connection) this.#connection = undefined;
  }

  async #takeSlot(): Promise<void> {
    while (this.#openChannels >= this.#maxChannels) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#openChannels += 1;
  }

  #freeSlot(): void {
    this.#openChannels -= 1;
    this.#waiting.shift()?.();
  }

  async #connectPatiently(): Promise<SshConnection> {
    const { clock } = this.#options;
    const patienceMs = this.#wasConnected
      ? (this.#options.patienceMs ?? 600_000)
      : (this.#options.firstPatienceMs ?? 60_000);
    const deadlineMs = clock.nowMs() + patienceMs;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      if (this.#ended) throw new HostUnreachableError(`the connection to ${this.#name} was closed`);
      try {
        const connection = await connectHops(this.#hops, this.#options);
        void connection.closed.then(() => {
          if (!this.#ended) this.#losses += 1;
        });
        this.#connection = connection;
        this.#wasConnected = true;
        return connection;
      } catch (error) {
        // Refused keys and hosts stay refused; asking again only fills the server's log.
        if (error instanceof UserError) throw error;
        if (errorCode(error) === 'ENOTFOUND' && !this.#wasConnected) {
          throw new HostUnreachableError(`there is no host named ${this.#name}`, { cause: error });
        }
        if (clock.nowMs() + waitMs >= deadlineMs) {
          const seconds = Math.round(patienceMs / 1000);
          throw new HostUnreachableError(
            `${this.#name} cannot be reached by ssh (tried for ${seconds} s): ${errorMessage(error)}`,
            { cause: error },
          );
        }
      }
      // Without jitter all clients of a restarted server come back in the same instant.
      await clock.sleep(waitMs * (0.5 + Math.random() / 2));
    }
  }

  get #name(): string {
    return this.#hops.at(-1)?.alias ?? 'the server';
  }
}
