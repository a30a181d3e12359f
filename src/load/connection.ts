import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { UserError } from '../errors.ts';
import { requireFiles } from './file-limit.ts';

/**
 * uvicorn closes idle sockets after 5 s and resets a request that comes at that moment; we let go
 * first (field report E13).
 */
const IDLE_MS = 4000;
/** Long: when many sockets open at once, the event loop may be busy for seconds (field report E12). */
const CONNECT_TIMEOUT_MS = 30_000;

/** Wall-clock limits that undici enforces as a backstop of our own. */
export interface ConnectionTimeouts {
  readonly headersMs: number;
  readonly bodyMs: number;
}

/**
 * One socket to the server, for one request at a time; reopened when it was closed. undici's
 * client is given its dispatcher here, so no proxy setting of the environment applies.
 */
export class Connection {
  readonly #origin: URL;
  readonly #client: Client;
  readonly #connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS });
  #socket: Socket | undefined;
  #requestsOnSocket = 0;

  constructor(origin: URL, timeouts: ConnectionTimeouts) {
    this.#origin = origin;
    this.#client = new Client(origin.origin, {
      connect: (options, callback) => {
        this.#requestsOnSocket = 0;
        const socket = this.#socket;
        this.#socket = undefined;
        if (socket !== undefined && !socket.destroyed && !socket.readableEnded) {
          // Not at once: undici would take the answer for part of its own call and never send.
          queueMicrotask(() => {
            callback(null, socket);
          });
        } else {
          this.#connect(options, callback);
        }
      },
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.bodyMs,
    });
  }

  /** Opens the socket before the first request, so that no connect is part of a measurement. */
  async open(): Promise<void> {
    const { hostname, host, protocol, port } = this.#origin;
    this.#socket = await new Promise<Socket>((resolve, reject) => {
      this.#connect({ hostname: unbracketed(hostname), host, protocol, port }, (error, socket) => {
        if (error === null) resolve(socket);
        else reject(error);
      });
    });
    // A reset before the first request is found by that request; without this it would be a crash.
    this.#socket.on('error', () => undefined);
  }

  /** Counts a request that starts on the socket; true when an earlier one has used it before. */
  countRequest(): boolean {
    this.#requestsOnSocket += 1;
    return this.#requestsOnSocket > 1;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  /** Closes the socket at once, whatever runs on it. */
  async destroy(): Promise<void> {
    this.#socket?.destroy();
    await this.#client.destroy();
  }
}

/**
 * Opens `count` connections side by side. Throws UserError when the server cannot be reached or
 * the file limit is too low; none is left open then.
 */
export async function openConnections(
  origin: URL,
  count: number,
  timeouts: ConnectionTimeouts,
): Promise<Connection[]> {
  requireFiles(count);
  const connections = Array.from({ length: count }, () => new Connection(origin, timeouts));
  const opened = await Promise.allSettled(connections.map((connection) => connection.open()));
  const failure = opened.find((result) => result.status === 'rejected');
  if (failure === undefined) return connections;
  await Promise.all(connections.map((connection) => connection.destroy()));
  throw new UserError(`cannot open ${count} connections to ${origin.origin}`, {
    hint: 'is the server running there?',
    cause: failure.reason,
  });
}

/** `[::1]` as the socket wants it. */
function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
