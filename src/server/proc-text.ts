/** One process, from `/proc/PID/stat`. */
export interface ProcessStat {
  readonly pid: number;
  /** Short name; may hold spaces and brackets. */
  readonly name: string;
  /** `R`, `S`, `D`, `Z` (ended, not yet reaped) … */
  readonly state: string;
  readonly parentPid: number;
  readonly groupId: number;
  readonly sessionId: number;
  /** Start in clock ticks since boot: with the pid it names a process beyond reuse of the pid. */
  readonly startTicks: number;
}

/**
 * Reads a line of `/proc/PID/stat`; undefined when it is not one.
 *
 * The name stands in brackets and may itself contain brackets, so fields count from the last one.
 * @see proc_pid_stat(5)
 */
export function parseStat(text: string): ProcessStat | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < open) return undefined;
  const pid = Number(text.slice(0, open));
  const [state, ...rest] = text.slice(close + 2).split(' ');
  const [parentPid, groupId, sessionId] = rest.map(Number);
  const startTicks = Number(rest[18]);
  if (state === undefined || parentPid === undefined) return undefined;
  if (groupId === undefined || sessionId === undefined) return undefined;
  if (!Number.isInteger(pid) || !Number.isFinite(startTicks)) return undefined;
  const name = text.slice(open + 1, close);
  return { pid, name, state, parentPid, groupId, sessionId, startTicks };
}

/** Value of a variable in the text of `/proc/PID/environ`; undefined when it is not there. */
export function environValue(text: string, name: string): string | undefined {
  const prefix = `${name}=`;
  return text
    .split('\0')
    .find((entry) => entry.startsWith(prefix))
    ?.slice(prefix.length);
}

/** Arguments in the text of `/proc/PID/cmdline`; empty for kernel threads and ended processes. */
export function parseCommandLine(text: string): string[] {
  const parts = text.split('\0');
  // Programs that rename themselves leave padding at the end.
  while (parts.at(-1) === '') parts.pop();
  return parts;
}

/** A listening TCP socket. */
export interface ListeningSocket {
  readonly port: number;
  /** Local address as the kernel writes it: hexadecimal, host byte order per 32-bit word. */
  readonly addressHex: string;
  readonly userId: number;
  /** Found again as `socket:[inode]` among the owner's file descriptors. */
  readonly inode: number;
}

const TCP_LISTEN = '0A';

/**
 * Listening sockets in the text of `/proc/net/tcp` or `tcp6`, in its order.
 * @see proc_net(5)
 */
export function parseListeners(text: string): ListeningSocket[] {
  return text.split('\n').flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const [addressHex, portHex] = (fields[1] ?? '').split(':');
    if (fields[3] !== TCP_LISTEN || addressHex === undefined || portHex === undefined) return [];
    const port = Number.parseInt(portHex, 16);
    return [{ port, addressHex, userId: Number(fields[7]), inode: Number(fields[9]) }];
  });
}
