import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the processes of a sweep can be told by. */
export interface Traces {
  /** Everything of the sweep lies in it: a watchdog holds the log below it open. */
  readonly folder: string;
  /** Port of its servers. */
  readonly port: number;
  /** The tuners: their pid starts the run marker in the environment of all they launched. */
  readonly tuners: readonly number[];
}

/** Servers, their children and watchdogs that are alive, as "PID COMMAND". */
export function leftOver({ folder, port, tuners }: Traces): string[] {
  const markers = tuners.map((pid) => `NIGHTSWEEP_RUN=${pid}-`);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const command = textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
      const environment = textOf(`/proc/${pid}/environ`);
      const isOurs =
        markers.some((marker) => environment.includes(marker)) ||
        command.includes(`--port ${port} `) ||
        openFiles(pid).some((path) => path.startsWith(folder));
      return isOurs ? [`${pid} ${command}`] : [];
    });
}

/** Waits until nothing is left, at most so long; returns what still is. */
export async function leftOverAfter(seconds: number, traces: Traces): Promise<string[]> {
  const deadlineMs = performance.now() + seconds * 1000;
  let left = leftOver(traces);
  while (left.length > 0 && performance.now() < deadlineMs) {
    await sleep(50);
    left = leftOver(traces);
  }
  return left;
}

/** Empty for a process that has ended, or is another user's. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function openFiles(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}
