import type { Socket } from 'node:net';
import { requireFiles } from './file-limit.ts';
import { type ResponseEvents, ResponseReader } from './http-response.ts';
import { NoAnswerError } from './network-failure.ts';
import { openSocket } from './socket.ts';

/**
 * uvicorn closes idle sockets after 5 s and resets a request that comes at that moment; we let go
 * first (field report E13).
 */
const IDLE_MS = 4000;
/** Margin to a limit that the server tells. */
const IDLE_MARGIN_MS = 1000;

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Hears of one request, in this order; after `onEnd` or `onError` nothing more. */
export interface ExchangeHandler extends ResponseEvents {
  /** It leaves now on an open socket; `reused`: an earlier one has used that socket. */
  onSent(reused: boolean): void;
  onError(error: Error): void;
}

interface Exchange {
  readonly handler: ExchangeHandler;
  readonly reader: ResponseReader;
}

/**
 * One socket to the server, for one request at a time; reopened when it was closed.
 *
 * HTTP by hand on a raw socket: at 256 streams that takes a quarter less CPU than undici's cheapest
 * interface, whose streams and copies cost more than all of our own work (bench/load).
 */
export class Connection {
  readonly #origin: URL;
  #socket: Socket | undefined;
  #opening: Socket | undefined;
  #exchange: Exchange | undefined;
  #requestsOnSocket = 0;
  #idleSinceMs = 0;
  #idleLimitMs = IDLE_MS;

  constructor(origin: URL) {
    this.#origin = origin;
  }

  /** Opens the socket before the first request, so that no connect is part of a measurement. */
  async open(): Promise<void> {
    const { socket, opened } = openSocket(this.#origin, {
      onRead: (bytes, from, to) => {
        this.#read(socket, bytes, from, to);
      },
      onEnd: () => {
        this.#ended(socket);
      },
      onError: (error) => {
        this.#failed(socket, error);
      },
    });
    this.#opening = socket;
    await opened;
    this.#opening = undefined;
    this.#socket = socket;
    this.#requestsOnSocket = 0;
    this.#idleSinceMs = performance.now();
    this.#idleLimitMs = IDLE_MS;
  }

  /** Sends a request; only when the one before has ended. Failures come to the handler. */
  send(request: WireRequest, handler: ExchangeHandler): void {
    const exchange: Exchange = { handler, reader: new ResponseReader(this.#withEnd(handler)) };
    this.#exchange = exchange;
    if (this.#isUsable()) {
      this.#write(request, handler);
      return;
    }
    this.#drop();
    this.open().then(
      () => {
        if (this.#exchange === exchange) this.#write(request, handler);
      },
      (error: unknown) => {
        if (this.#exchange !== exchange) return;
        this.#exchange = undefined;
        handler.onError(error instanceof Error ? error : new Error(String(error)));
      },
    );
  }

  /** Closes the socket at once; the handler of a request under way hears nothing more. */
  abort(): void {
    this.#exchange = undefined;
    this.#drop();
  }

  #isUsable(): boolean {
    if (this.#socket === undefined || this.#socket.destroyed) return false;
    return performance.now() - this.#idleSinceMs < this.#idleLimitMs;
  }

  #drop(): void {
    this.#opening?.destroy();
    this.#opening = undefined;
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #write({ method, path, headers, body }: WireRequest, handler: ExchangeHandler): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#requestsOnSocket += 1;
    handler.onSent(this.#requestsOnSocket > 1);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#origin.host}\r\n${lines.join('')}`;
    socket.cork();
    socket.write(`${head}content-length: ${body.length}\r\n\r\n`, 'latin1');
    if (body.length > 0) socket.write(body);
    socket.uncork();
  }

  /** The handler's events, the end after the connection is free for the next request. */
  #withEnd(handler: ExchangeHandler): ResponseEvents {
    return {
      onHead: (head) => {
        handler.onHead(head);
      },
      onBody: (bytes, from, to) => {
        handler.onBody(bytes, from, to);
      },
      onEnd: () => {
        this.#free();
        handler.onEnd();
      },
    };
  }

  #free(): void {
    const reader = this.#exchange?.reader;
    this.#exchange = undefined;
    this.#idleSinceMs = performance.now();
    const limitMs = (reader?.idleSeconds ?? Number.POSITIVE_INFINITY) * 1000 - IDLE_MARGIN_MS;
    this.#idleLimitMs = Math.min(IDLE_MS, limitMs);
    if (reader?.keepsAlive !== true) this.#drop();
  }

  #read(socket: Socket, bytes: Buffer, from: number, to: number): void {
    if (socket !== this.#socket) return;
    const exchange = this.#exchange;
    if (exchange === undefined) {
      // An answer that nobody asked for, such as a 408 before the server hangs up.
      this.#drop();
      return;
    }
    try {
      if (exchange.reader.push(bytes, from, to) < to) this.#drop();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EPROTO')) throw error;
      this.#failed(socket, error);
    }
  }

  #ended(socket: Socket): void {
    if (socket !== this.#socket) return;
    const exchange = this.#exchange;
    if (exchange?.reader.close() !== true) {
      this.#failed(socket, new ClosedError('the server closed the connection'));
    }
  }

  #failed(socket: Socket, error: Error): void {
    if (socket !== this.#socket) return;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#drop();
    exchange?.handler.onError(error);
  }
}

/** The end of the connection in the middle of an exchange. */
class ClosedError extends Error {
  readonly code = 'ECONNRESET';
}

/**
 * Opens `count` connections side by side. Throws NoAnswerError when the server cannot be reached,
 * UserError when the file limit is too low; none is left open then.
 */
export async function openConnections(origin: URL, count: number): Promise<Connection[]> {
  requireFiles(count);
  const connections = Array.from({ length: count }, () => new Connection(origin));
  const opened = await Promise.allSettled(connections.map((connection) => connection.open()));
  const failure = opened.find((result) => result.status === 'rejected');
  if (failure === undefined) return connections;
  for (const connection of connections) connection.abort();
  throw new NoAnswerError(`cannot open ${count} connections to ${origin.origin}`, {
    hint: 'is the server running there?',
    cause: failure.reason,
  });
}
