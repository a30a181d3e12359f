import { createConnection } from 'node:net';
import { redactArgv } from '../sglang/redact.ts';
import { type ListeningSocket, parseListeners } from './proc-text.ts';
import { commandOf, liveProcesses, readProc, socketInodesOf } from './process-table.ts';

/** Somebody who listens on a port. `pid` is absent when the owner belongs to another user. */
export interface Listener {
  readonly userId: number;
  readonly pid?: number;
  /** Command line with secrets blotted out. */
  readonly command?: string;
}

/** Who listens on a TCP port of this machine, on any address; empty when nobody does. */
export function listenersOn(port: number): Listener[] {
  const sockets = listeningSockets().filter((socket) => socket.port === port);
  if (sockets.length === 0) return [];
  const owners = liveProcesses().map(({ pid }) => ({ pid, inodes: socketInodesOf(pid) }));
  return sockets.flatMap(({ inode, userId }): Listener[] => {
    const holders = owners.filter(({ inodes }) => inodes.has(inode));
    if (holders.length === 0) return [{ userId }];
    return holders.map(({ pid }) => ({ userId, pid, command: shownCommand(pid) }));
  });
}

/** The sockets that listen on a port, as text: a server that binds anew has others. */
export function listeningIdentity(port: number): string | undefined {
  const inodes = listeningSockets().filter((socket) => socket.port === port);
  return inodes.length === 0
    ? undefined
    : inodes
        .map(({ inode }) => String(inode))
        .sort()
        .join(' ');
}

/** Whether anybody listens on the port. Cheaper than asking who. */
export function isListening(port: number): boolean {
  return listeningSockets().some((socket) => socket.port === port);
}

/** "pid 4242 (python3 -m sglang.launch_server …)" */
export function describeListener({ pid, userId, command }: Listener): string {
  if (pid === undefined) return `a process of user id ${userId}`;
  return `pid ${pid} (${command ?? 'unknown command'})`;
}

/**
 * Whether a connection to the port succeeds within `timeoutMs`. Also finds listeners that `/proc`
 * does not show, such as a forwarded port of a container.
 */
export async function acceptsConnections(
  host: string,
  port: number,
  timeoutMs: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => {
      settle(false);
    });
    socket.once('connect', () => {
      settle(true);
    });
    socket.once('error', () => {
      settle(false);
    });
  });
}

function listeningSockets(): ListeningSocket[] {
  return ['net/tcp', 'net/tcp6'].flatMap((path) => parseListeners(readProc(path) ?? ''));
}

const SHOWN_COMMAND_LENGTH = 200;

/** The whole command line of an SGLang server fills a screen, and may hold its API key. */
function shownCommand(pid: number): string {
  const text = redactArgv(commandOf(pid)).join(' ');
  return text.length <= SHOWN_COMMAND_LENGTH ? text : `${text.slice(0, SHOWN_COMMAND_LENGTH)} …`;
}
