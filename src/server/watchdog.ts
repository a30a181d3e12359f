import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ByteTail } from './capped-log.ts';
import type { WatchdogMessage, WatchdogNews, WatchdogOrder } from './watchdog-messages.ts';

const MAX_STDERR_BYTES = 4 * 1024;

/**
 * The tuner's end of a watchdog: a small process that is parent of one server, writes its log,
 * and ends everything of the launch when the channel to the tuner closes.
 */
export class Watchdog {
  readonly #process: ChildProcess;
  readonly #stderr = new ByteTail(MAX_STDERR_BYTES);
  /** Resolves when the watchdog process has ended, however it did. */
  readonly ended: Promise<void>;

  private constructor(process: ChildProcess) {
    this.#process = process;
    process.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr.add(chunk);
    });
    this.ended = new Promise((resolve) => {
      process.once('exit', () => {
        resolve();
      });
      process.once('error', () => {
        resolve();
      });
    });
  }

  /** Starts a watchdog and gives it its order; its answers go to `onMessage`. */
  static start(order: WatchdogOrder, onMessage: (message: WatchdogNews) => void): Watchdog {
    const child = spawn(process.execPath, programArguments(), {
      // Only what Node needs: NODE_OPTIONS of the tuner (a debugger, say) is not for it.
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/' },
      cwd: '/',
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    child.on('message', (message: WatchdogMessage) => {
      // A message sent while the program still loads is lost.
      if (message.type === 'awake') child.send(order, () => undefined);
      else onMessage(message);
    });
    return new Watchdog(child);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Closes the channel: the watchdog kills what is left, completes the log, and ends. */
  dismiss(): void {
    if (this.#process.connected) this.#process.disconnect();
  }

  /** For a watchdog that does not end when dismissed. */
  kill(): void {
    this.#process.kill('SIGKILL');
  }

  /** What it printed in its trouble; mostly empty. */
  stderr(): string {
    return this.#stderr.bytes().toString('utf8').trim();
  }
}

/** `watchdog-process.js` beside this file; from source, `.ts` through tsx. */
function programArguments(): string[] {
  const suffix = extname(fileURLToPath(import.meta.url));
  const program = fileURLToPath(new URL(`./watchdog-process${suffix}`, import.meta.url));
  if (suffix !== '.ts') return [program];
  const tsx = createRequire(import.meta.url).resolve('tsx');
  return ['--import', pathToFileURL(tsx).href, program];
}
