import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { secretValues } from '../sglang/redact.ts';
import { DEFAULT_LOG_CAP, type LogCap } from './capped-log.ts';
import { describeProcess, killAll } from './launched-processes.ts';
import { findLeftovers } from './leftovers.ts';
import { acceptsConnections, describeListener, listenersOn } from './listening.ts';
import { LocalServer, type StopLimits } from './local-server.ts';
import { LogTail } from './log-tail.ts';
import { newMarker } from './run-marker.ts';
import { hostFlags, serverEnvironment } from './server-environment.ts';
import type { LaunchRequest, RunningServer, Target } from './target.ts';
import { Watchdog } from './watchdog.ts';
import type { WatchdogNews } from './watchdog-messages.ts';

/** What a target on this machine needs; `logCap` and `killSeconds` have defaults. */
export interface LocalTargetOptions {
  readonly clock: Clock;
  /** How long a server may take to end by itself after SIGTERM, before SIGKILL. */
  readonly stopSeconds: number;
  readonly killSeconds?: number;
  readonly logCap?: LogCap;
}

/** GPU teardown was seen to take more than 30 s after a kill (SGLang 0.5.23, network.py:62-67). */
const DEFAULT_KILL_SECONDS = 60;
const CONNECT_MS = 500;

/**
 * Servers as processes of this machine, each in a session and group of its own, with a marker in
 * its environment and a watchdog that outlives this process. Linux only (it reads `/proc`).
 */
export function localTarget(options: LocalTargetOptions): Target {
  const limits = {
    stopSeconds: options.stopSeconds,
    killSeconds: options.killSeconds ?? DEFAULT_KILL_SECONDS,
  };
  const { clock, logCap = DEFAULT_LOG_CAP } = options;
  let current: RunningServer | undefined;
  let isStarting = false;

  return {
    async start(request) {
      if (isStarting || (current !== undefined && !(await isStopped(current)))) {
        throw new Error('a target runs one server at a time: stop the earlier one first');
      }
      isStarting = true;
      try {
        current = await startServer(request, { clock, limits, logCap });
        return current;
      } finally {
        isStarting = false;
      }
    },
    async cleanUp() {
      requireLinux();
      const ended: string[] = [];
      for (const { markerValue, processes } of findLeftovers()) {
        const names = processes.map(describeProcess);
        const survivors = await killAll(
          { main: undefined, markerValue },
          clock,
          limits.killSeconds,
        );
        if (survivors.length > 0) {
          throw new UserError(`leftovers of an earlier sweep do not end: ${survivors.join(', ')}`, {
            hint: 'They hold on to the GPU or a device; end them, or restart the machine.',
          });
        }
        ended.push(...names);
      }
      return ended;
    },
  };
}

/** A server that ended by itself may have left children: only a stop makes room for the next. */
async function isStopped(server: RunningServer): Promise<boolean> {
  if (server.exit() === undefined) return false;
  return (await server.stop()).clean;
}

interface StartDeps {
  readonly clock: Clock;
  readonly limits: StopLimits;
  readonly logCap: LogCap;
}

async function startServer(request: LaunchRequest, deps: StartDeps): Promise<RunningServer> {
  requireLinux();
  const { hostname, port } = addressOf(request.baseUrl);
  await requireFreePort(request.baseUrl);
  const workingDirectory = resolve(request.workingDirectory ?? '.');
  await refuseMissingFolder(workingDirectory);
  const logPath = resolve(request.logPath);
  await makeFolder(dirname(logPath));

  const marker = newMarker();
  const bindHosts = [hostname, ...hostFlags(request.argv)];
  const environment = serverEnvironment(request.environment, marker.value, bindHosts);
  const tail = new LogTail(secretValues(request.argv, request.environment));
  const startedAtMs = deps.clock.nowMs();
  let server: LocalServer | undefined;

  return new Promise((resolveStart, reject) => {
    const onMessage = (message: WatchdogNews) => {
      switch (message.type) {
        case 'started': {
          const launch = { main: message.main, markerValue: marker.value, port, startedAtMs };
          server = new LocalServer(launch, { ...deps, watchdog, tail });
          resolveStart(server);
          return;
        }
        case 'not-started':
          watchdog.dismiss();
          reject(startError(request, message));
          return;
        case 'log':
          tail.add(message.text);
          server?.noteLog(message.bytes);
          return;
        case 'ended':
          if (message.logProblem !== undefined) {
            tail.add(`\n[nightsweep: ${request.logPath}: ${message.logProblem}]\n`);
          }
          server?.noteExit(message);
      }
    };
    const { argv } = request;
    const { logCap } = deps;
    const watchdog = Watchdog.start(
      { argv, environment, workingDirectory, logPath, logCap, markerValue: marker.value },
      onMessage,
    );
    void watchdog.ended.then(() => {
      const why = watchdog.stderr();
      reject(new Error(`the watchdog process ended before the server started: ${why}`));
      if (server === undefined || server.exit() !== undefined) return;
      // Nobody reads the server's output any more, and nobody would end it if we died.
      tail.add(`\n[nightsweep: the watchdog process ended by itself: ${why}]\n`);
      return server.endWithoutWatchdog();
    });
  });
}

function requireLinux(): void {
  if (process.platform === 'linux') return;
  throw new UserError(`a server on this machine needs Linux; this is ${process.platform}`, {
    hint: 'Use a target with `ssh`.',
  });
}

function addressOf(baseUrl: string): { hostname: string; port: number } {
  const url = new URL(baseUrl);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  return { hostname: url.hostname.replace(/^\[|\]$/g, ''), port };
}

/** Throws UserError naming who listens where a server of this base URL would. */
export async function requireFreePort(baseUrl: string): Promise<void> {
  const { hostname, port } = addressOf(baseUrl);
  const listeners = listenersOn(port);
  const isTaken = listeners.length > 0 || (await acceptsConnections(hostname, port, CONNECT_MS));
  if (!isTaken) return;
  const who = listeners.length > 0 ? listeners.map(describeListener).join(', ') : 'something';
  throw new UserError(`port ${port} is taken: ${who} listens on it`, {
    hint: 'Stop that server, or give the study another base_url and the server another --port.',
  });
}

async function refuseMissingFolder(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') {
      throw new UserError(`cannot look at the working directory ${path}`, { cause: error });
    }
  }
  throw new UserError(`the working directory ${path} does not exist`);
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw new UserError(`cannot make the folder ${path} for logs`, { cause: error });
  }
}

function startError(
  { argv, logPath }: LaunchRequest,
  { code, message }: { readonly code: string; readonly message: string },
): UserError {
  const program = argv[0] ?? '';
  if (message.startsWith('spawn ')) {
    const why = code === 'ENOENT' ? 'not found' : code === 'EACCES' ? 'not executable' : message;
    return new UserError(`cannot start ${program}: ${why}`, {
      hint: 'Give the full path of the program, or set PATH in the environment of the server.',
    });
  }
  return new UserError(`cannot write the log ${logPath}: ${message}`);
}
