import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CuttingProxy, startProxy } from '../../test/container/cutting-proxy.ts';
import { rows } from '../../test/helpers/database.ts';
import type { RunningCli } from '../../test/helpers/run-cli.ts';
import {
  type SystemdStudy,
  type SystemdStudyOptions,
  systemdStudy,
} from '../../test/helpers/systemd-study.ts';

/** Eight trials, of which the first is production. */
const LIMITS = [1, 2, 3, 4, 6, 8, 12, 16];

export interface FaultyOptions extends SystemdStudyOptions {
  /** Whom ssh logs in as. */
  readonly login?: string;
  readonly drops?: (connection: number) => boolean;
}

/** A machine with production, a study of eight trials, and a link to it that can be cut. */
export interface FaultyMachine extends AsyncDisposable {
  readonly study: SystemdStudy;
  readonly link: CuttingProxy;
  readonly sshConfig: string;
  readonly knownHosts: string;
  sweep(): RunningCli;
}

export async function faultyMachine({
  login = 'root',
  drops = () => false,
  ...options
}: FaultyOptions = {}): Promise<FaultyMachine> {
  const study = await systemdStudy({
    speed: 10,
    ...options,
    study: {
      parameters: { 'max-running-requests': LIMITS },
      workload: { prompts: 'code', input_tokens: 100, output_tokens: 40, requests: 32 },
      measure: { launches: 1, warm_up: { requests: 1 } },
    },
  });
  const link = await startProxy(study.box.sshPort, { drops });
  const sshConfig = join(study.box.folder, 'through_link');
  const knownHosts = `${sshConfig}_known`;
  const port = String(study.box.sshPort);
  const known = readFileSync(study.box.knownHostsPath, 'utf8');
  writeFileSync(knownHosts, known.replace(`:${port}`, `:${String(link.port)}`));
  writeFileSync(
    sshConfig,
    readFileSync(study.box.sshConfigPath, 'utf8')
      .replace(`Port ${port}`, `Port ${String(link.port)}`)
      .replace('User root', `User ${login}`)
      .replace(study.box.knownHostsPath, knownHosts),
  );
  return {
    study,
    link,
    sshConfig,
    knownHosts,
    sweep: () => study.startWith(sshConfig, 'sweep', study.file, '--db', study.database),
    [Symbol.asyncDispose]: async () => {
      await link[Symbol.asyncDispose]();
      await study[Symbol.asyncDispose]();
    },
  };
}

/** Waits for a text behind an earlier one; false when the sweep ended before. */
export async function printed(
  sweep: RunningCli,
  ...texts: readonly [string, ...string[]]
): Promise<boolean> {
  const state = { ended: false };
  void sweep.result.then(() => {
    state.ended = true;
  });
  for (;;) {
    let at = 0;
    for (const text of texts) at = at < 0 ? -1 : sweep.output().indexOf(text, at);
    if (at >= 0) return true;
    if (state.ended) return false;
    await sleep(20);
  }
}

/** What is stored: each measurement by its key, with the moment at which it was taken. */
export function stored({ database }: SystemdStudy): ReadonlyMap<string, number> {
  const found = rows(
    database,
    `SELECT number, round, concurrency, repeat, started_at_ms FROM measurements
     JOIN trials ON trials.id = trial_id`,
  );
  return new Map(
    found.map((row) => [
      ['number', 'round', 'concurrency', 'repeat'].map((name) => String(row[name])).join('/'),
      Number(row['started_at_ms']),
    ]),
  );
}

/** First launches that the study lacks; empty when every trial is measured at each concurrency. */
export function missing(study: SystemdStudy): readonly string[] {
  const have = stored(study);
  return LIMITS.flatMap((_, trial) =>
    [1, 8].map((c) => `${String(trial)}/0/${String(c)}/0`),
  ).filter((key) => !have.has(key));
}

/** What is not as before of production; empty when all is. */
export function changed(study: SystemdStudy, before: string): string {
  // Files alone change nothing: what the timer writes about its work, and what a tuner wrote that
  // was killed before it armed the timer.
  const now = study.production().replaceAll(/^\/run\/nightsweep\/.*\n/gm, '');
  if (now === before) return '';
  const old = new Set(before.split('\n'));
  return now
    .split('\n')
    .filter((line) => !old.has(line))
    .map((line) => line.slice(0, 120))
    .join('; ');
}

/** Seconds until production answers a completion by its original command; throws after a limit. */
export async function productionBack(
  study: SystemdStudy,
  command: string,
  limitSeconds: number,
): Promise<number> {
  const start = performance.now();
  for (;;) {
    const status = study.command() === command ? await study.complete().catch(() => 0) : 0;
    const seconds = (performance.now() - start) / 1000;
    if (status === 200) return seconds;
    if (seconds > limitSeconds) {
      throw new Error(`production is not back after ${String(limitSeconds)} s: ${study.command()}`);
    }
    await sleep(200);
  }
}
