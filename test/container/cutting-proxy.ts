import { createConnection, createServer, type Socket } from 'node:net';

/** A TCP relay on loopback whose link a test can cut. */
export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** Cuts every connection and refuses new ones until `mend`. */
  cut(): void;
  mend(): void;
  /** Connections accepted so far, dropped ones included. */
  accepted(): number;
}

export interface ProxyOptions {
  /** Says for the n-th connection (from 1) whether it is dropped at once. */
  readonly drops?: (connection: number) => boolean;
}

export async function startProxy(
  targetPort: number,
  { drops = () => false }: ProxyOptions = {},
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.on('error', () => undefined);
    if (isCut || drops(accepted)) {
      socket.destroy();
      return;
    }
    const onward = createConnection({ host: '127.0.0.1', port: targetPort });
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(end);
      end.on('error', () => other.destroy());
      end.on('close', () => {
        sockets.delete(end);
        other.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    mend: () => {
      isCut = false;
    },
    accepted: () => accepted,
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}
