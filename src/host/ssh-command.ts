import type { ClientChannel } from 'ssh2';
import { BoundedOutput } from './bounded-output.ts';
import type { CommandRequest, CommandResult } from './host.ts';

/** Environment variable that marks everything a command starts, so that its end can be proven. */
export const COMMAND_MARKER = 'NIGHTSWEEP_COMMAND';

/** How long after the remote limit the remote `timeout` may take to end what it runs. */
const KILL_AFTER_SECONDS = 2;
const OVERTIME_MS = 10_000;
const OUTPUT_GRACE_MS = 500;
const DEFAULT_MAX_OUTPUT_BYTES = 8 * 1024 * 1024;

/** A word that every POSIX shell reads as exactly `text`. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * The command line for the remote side.
 *
 * Ending a connection does not end what runs there (mscdex/ssh2#382), so `timeout` on the remote
 * side limits it: SIGTERM to the whole group, SIGKILL two seconds later. The script travels in
 * base64 because sshd hands the line to the user's login shell, which may be fish or csh.
 */
export function remoteCommandLine(request: CommandRequest, marker: string): string {
  for (const word of [...request.argv, ...Object.entries(request.environment ?? {}).flat()]) {
    if (word.includes('\0')) throw new Error('a command cannot hold a zero byte');
  }
  const limit = Math.max(1, Math.ceil(request.timeoutMs / 1000));
  const environment = request.environment;
  const clean =
    environment === undefined
      ? []
      : [
          'env',
          '-i',
          `${COMMAND_MARKER}=${marker}`,
          ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
        ];
  const words = [
    'timeout',
    '-k',
    String(KILL_AFTER_SECONDS),
    String(limit),
    ...clean,
    ...request.argv,
  ];
  return scriptLine(
    `${COMMAND_MARKER}=${marker}; export ${COMMAND_MARKER}; exec ${words.map(shellQuote).join(' ')}`,
  );
}

/** A login shell's command line that runs `script` with /bin/sh, whatever the login shell is. */
export function scriptLine(script: string): string {
  const encoded = Buffer.from(script).toString('base64');
  return `exec /bin/sh -c 'eval "$(echo ${encoded} | base64 -d)"'`;
}

/**
 * Kills whatever still carries the marker and prints the ids that survive for five seconds; prints
 * nothing when all of it has ended.
 *
 * Only processes that we may look into are found: not those that sudo started as another user.
 */
export function endMarkedScript(marker: string): string {
  return scriptLine(`
i=0
while :; do
  left=$(grep -lzxF '${COMMAND_MARKER}=${marker}' /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)
  [ -z "$left" ] && exit 0
  [ $i -ge 50 ] && { echo $left; exit 1; }
  kill -KILL $left 2>/dev/null
  i=$((i+1)); sleep 0.1
done`);
}

/** How a command on a channel ended, or that the connection ended before it did. */
export type ChannelOutcome = CommandResult | 'lost';

/**
 * Feeds a command on a channel and collects what it prints, until it ends.
 *
 * `timedOut` needs the remote limit to have passed: 124 alone may be the command's own status.
 */
export async function followCommand(
  channel: ClientChannel,
  request: CommandRequest,
  nowMs: () => number,
): Promise<ChannelOutcome> {
  const startMs = nowMs();
  const stdout = new BoundedOutput(request.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
  const stderr = new BoundedOutput(request.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
  channel.on('data', (chunk: Buffer) => {
    stdout.add(chunk);
  });
  channel.stderr.on('data', (chunk: Buffer) => {
    stderr.add(chunk);
  });
  // A command that ends without reading its input is no error.
  channel.on('error', () => undefined);
  channel.end(request.input ?? '');

  const exit = await exitOf(channel, request.timeoutMs);
  if (exit === 'lost') return 'lost';
  const limitPassed = nowMs() - startMs >= request.timeoutMs;
  const killedByTimeout = exit.code === 124 || exit.code === 137 || exit.signal === 'SIGKILL';
  const timedOut = exit.overtime || (limitPassed && killedByTimeout);
  return {
    exitCode: timedOut ? null : exit.code,
    signal: exit.signal,
    timedOut,
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: stdout.truncated || stderr.truncated,
  };
}

interface ChannelExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The remote limit did not work: the command may still run. */
  readonly overtime: boolean;
}

/** How the command of a channel ended; lost when the channel closed without saying. */
async function exitOf(channel: ClientChannel, timeoutMs: number): Promise<ChannelExit | 'lost'> {
  return new Promise((resolve) => {
    let exit: ChannelExit | 'lost' = 'lost';
    let grace: NodeJS.Timeout | undefined;
    const limitMs = Math.max(1000, timeoutMs) + KILL_AFTER_SECONDS * 1000 + OVERTIME_MS;
    const timer = setTimeout(() => {
      channel.close();
      resolve({ code: null, signal: null, overtime: true });
    }, limitMs);
    channel.on('exit', (code: number | null, signal?: string) => {
      exit = { code, signal: signal ?? null, overtime: false };
      // A child left in the background may hold the pipes for ever.
      grace = setTimeout(() => {
        channel.close();
      }, OUTPUT_GRACE_MS);
    });
    channel.once('close', () => {
      clearTimeout(timer);
      clearTimeout(grace);
      resolve(exit);
    });
  });
}
