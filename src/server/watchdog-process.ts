import { type ChildProcess, spawn } from 'node:child_process';
import { systemClock } from '../clock.ts';
import { secretValues } from '../sglang/redact.ts';
import { ByteTail, CappedLog } from './capped-log.ts';
import { killAll } from './launched-processes.ts';
import { type ProcessId, processStat } from './process-table.ts';
import type { WatchdogMessage, WatchdogOrder } from './watchdog-messages.ts';

/*
 * The program between the tuner and one server: parent of the server, writer of its log, and its
 * end when the tuner is gone. The channel to the tuner closes when the tuner ends, even by kill
 * -9; that is the only thing that makes this program act on its own.
 */

/** How often news of the log go to the tuner. */
const REPORT_MS = 200;
/** The longest piece of log in one message. */
const REPORT_BYTES = 16 * 1024;
/** How long after the server's end its last output is awaited while a child holds the pipe. */
const DRAIN_MS = 300;
const KILL_SECONDS = 60;

// The terminal's Ctrl-C and a closing session are for the tuner, which decides what ends.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);

let main: ProcessId | undefined;
let markerValue: string | undefined;
let log: CappedLog | undefined;

process.once('disconnect', () => void end());
process.once('message', (order: WatchdogOrder) => void start(order));
report({ type: 'awake' });

async function start(order: WatchdogOrder): Promise<void> {
  const { argv, environment, logPath, logCap } = order;
  const [file, ...args] = argv;
  if (file === undefined) throw new Error('a launch needs a program');
  markerValue = order.markerValue;
  try {
    log = await CappedLog.open(logPath, logCap, secretValues(argv, environment));
  } catch (error) {
    notStarted(error);
    return;
  }
  // The tuner may have ended while the log was opened: then nobody would end the server.
  if (!process.connected) return;
  const server = spawn(file, args, {
    env: { ...environment },
    cwd: order.workingDirectory,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  server.once('error', notStarted);
  if (server.pid === undefined) return;
  // Even if it has ended already: it is reaped only when this function has returned.
  const startTicks = processStat(server.pid)?.startTicks;
  if (startTicks === undefined) throw new Error(`no /proc/${server.pid}/stat`);
  main = { pid: server.pid, startTicks };
  report({ type: 'started', main });
  follow(server, log);
}

/** Writes the server's output to the log and tells the tuner of progress and of the end. */
function follow(server: ChildProcess, target: CappedLog): void {
  let bytes = 0;
  let reportedBytes = 0;
  let news = new ByteTail(REPORT_BYTES);
  const tellNews = () => {
    if (bytes === reportedBytes) return;
    report({ type: 'log', bytes, text: news.bytes().toString('utf8') });
    reportedBytes = bytes;
    news = new ByteTail(REPORT_BYTES);
  };
  const timer = setInterval(tellNews, REPORT_MS);
  for (const stream of [server.stdout, server.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      news.add(chunk);
      target.write(chunk);
    });
  }
  server.once('exit', (code, signal) => {
    const ended = () => {
      clearTimeout(patience);
      tellNews();
      const { problem } = target;
      report({
        type: 'ended',
        code,
        signal,
        ...(problem === undefined ? {} : { logProblem: problem }),
      });
    };
    const patience = setTimeout(() => {
      server.off('close', ended);
      ended();
    }, DRAIN_MS);
    server.once('close', ended);
  });
  server.once('close', () => {
    clearInterval(timer);
  });
}

function notStarted(error: unknown): void {
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = error instanceof Error ? error.message : String(error);
  report({ type: 'not-started', code, message });
}

/** The tuner is gone or done with us: nothing of the launch may stay. */
async function end(): Promise<void> {
  if (markerValue !== undefined) {
    await killAll({ main, markerValue }, systemClock, KILL_SECONDS);
  }
  await log?.close();
  process.exit(0);
}

function report(message: WatchdogMessage): void {
  // Without a callback a channel that closes at this moment would be an uncaught error.
  if (process.connected) process.send?.(message, () => undefined);
}
