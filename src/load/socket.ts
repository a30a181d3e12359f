import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Long: when many sockets open at once, the event loop may be busy for seconds (field report E12). */
const CONNECT_TIMEOUT_MS = 30_000;
/**
 * Every TCP socket reads into this: what arrived is taken before the next socket is read, and a
 * buffer a read would be what the garbage collector is busy with.
 */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

export interface SocketEvents {
  /** Bytes `from`..`to`, valid during the call only. */
  onRead(bytes: Buffer, from: number, to: number): void;
  /** The other side will send no more. */
  onEnd(): void;
  onError(error: Error): void;
}

/** A socket that is being opened. */
export interface Opening {
  readonly socket: Socket;
  /** Rejects when it cannot be opened. */
  readonly opened: Promise<void>;
}

/** Opens a socket to the origin; events come once it is open. No proxy setting applies. */
export function openSocket(origin: URL, events: SocketEvents): Opening {
  const isTls = origin.protocol === 'https:';
  const host = unbracketed(origin.hostname);
  const port = Number(origin.port === '' ? (isTls ? 443 : 80) : origin.port);
  const socket = isTls
    ? connectTls({ host, port, ALPNProtocols: ['http/1.1'], ...serverName(host) })
    : connectTcp({
        host,
        port,
        onread: {
          buffer: readBuffer,
          callback: (count) => {
            events.onRead(readBuffer, 0, count);
            return true;
          },
        },
      });
  if (isTls) {
    socket.on('data', (bytes: Buffer) => {
      events.onRead(bytes, 0, bytes.length);
    });
  }
  socket.setNoDelay(true);
  const opened = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1000} s`));
    }, CONNECT_TIMEOUT_MS);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      resolve();
    });
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('closed before it was open'));
    });
  });
  socket.on('error', (error: Error) => {
    events.onError(error);
  });
  socket.on('end', () => {
    events.onEnd();
  });
  socket.on('close', () => {
    events.onEnd();
  });
  return { socket, opened };
}

/** The name that the certificate must have; an address cannot be sent as one. */
function serverName(host: string): { readonly servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}

/** `[::1]` as the socket wants it. */
function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
