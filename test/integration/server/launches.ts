import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/clock.ts';
import type { ProcessStat } from '../../../src/server/proc-text.ts';
import { environmentOf, isAlive, liveProcesses } from '../../../src/server/process-table.ts';
import type { LaunchRequest } from '../../../src/server/target.ts';

/** Variable by which a test finds every process that it started, independent of the product. */
const TEST_VARIABLE = 'NIGHTSWEEP_TEST';

/** Path of a program in test/fixtures/servers. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/servers/${name}`, import.meta.url));
}

/** A folder, free ports and launch requests for one test; `end` leaves nothing behind. */
export class Launches {
  readonly #id = randomUUID();
  readonly folder: string;
  readonly port: number;

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
  }

  static async create(): Promise<Launches> {
    return new Launches(await mkdtemp(join(tmpdir(), 'nightsweep-test-')), await freePortPair());
  }

  get environment(): Record<string, string> {
    return { PATH: process.env['PATH'] ?? '', [TEST_VARIABLE]: this.#id };
  }

  get logPath(): string {
    return join(this.folder, 'server.log');
  }

  /** A launch of the fake server with switches. */
  request(...switches: string[]): LaunchRequest {
    const program = [process.execPath, fixture('fake-server.mjs')];
    return this.requestOf([...program, '--port', String(this.port), ...switches]);
  }

  requestOf(argv: readonly string[]): LaunchRequest {
    return {
      argv,
      environment: this.environment,
      baseUrl: `http://127.0.0.1:${this.port}`,
      logPath: this.logPath,
    };
  }

  /** Live processes of this test, whatever group or parent they have. */
  processes(): ProcessStat[] {
    return liveProcesses().filter(({ pid }) => environmentOf(pid, TEST_VARIABLE) === this.#id);
  }

  /** Kills what the test left running and returns how many processes that were. */
  async end(): Promise<number> {
    const left = this.processes();
    for (const one of left) if (isAlive(one)) process.kill(one.pid, 'SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
    return left.length;
  }
}

/** Waits until `condition` holds; fails with `what` after 20 s. */
export async function eventually(what: string, condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`it did not happen that ${what}`);
    await systemClock.sleep(25);
  }
}

/** A port that is free together with the one after it, at this moment. */
async function freePortPair(): Promise<number> {
  for (;;) {
    const port = await bindOnce(0);
    if (port !== undefined && (await bindOnce(port + 1)) !== undefined) return port;
  }
}

function bindOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' ? address?.port : undefined);
      });
    });
  });
}
