/**
 * Whole sweeps of eight trials over real ssh and real systemd, each with one fault in the middle.
 *
 *   npx tsx bench/faults/run.ts [PART OF A NAME ...]     the faults of faults.ts, all or some
 *   npx tsx bench/faults/run.ts kills [N]                the tuner killed with -9 at N random moments
 *
 * Needs `npm run build`, and what the container tests need. Prints a table: how the sweep ended,
 * what happened to production, what to the measurements.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { served } from '../../test/helpers/systemd-study.ts';
import { commit, type Fault, faults, loadAverage } from './faults.ts';
import { changed, faultyMachine, missing, productionBack, stored } from './faulty-machine.ts';

const SWEEP_LIMIT_MS = 900_000;
const BACK_SECONDS = 180;

interface Row {
  readonly fault: string;
  readonly ended: string;
  readonly production: string;
  readonly measurements: string;
  readonly good: boolean;
}

const note = (text: string) => process.stderr.write(`${new Date().toISOString()}  ${text}\n`);

async function strikeOnce(fault: Fault): Promise<Row> {
  await using machine = await faultyMachine(fault.options);
  const { study } = machine;
  await fault.prepare?.(machine);
  await served(study, BACK_SECONDS);
  const before = study.production();
  const command = study.command();
  const ended: string[] = [];
  let kept: ReadonlyMap<string, number> = new Map();
  const production: string[] = [];
  let lost = 0;
  for (let run = 1; run <= 3; run += 1) {
    const sweep = machine.sweep();
    const limit = setTimeout(() => {
      sweep.kill('SIGKILL');
    }, SWEEP_LIMIT_MS);
    const [result] = await Promise.all([
      sweep.result,
      run === 1 ? fault.strike?.(machine, sweep) : undefined,
    ]);
    clearTimeout(limit);
    ended.push(String(result.exitCode));
    note(`${fault.name}: run ${String(run)} ended with ${String(result.exitCode)}`);
    const seconds = await productionBack(study, command, BACK_SECONDS);
    const difference = changed(study, before);
    production.push(difference === '' ? `as before (${seconds.toFixed(0)} s)` : difference);
    const now =
      run === 1 && result.exitCode === 2 && kept.size === 0 ? safeStored(study) : stored(study);
    lost += [...kept].filter(([key, atMs]) => now.get(key) !== atMs).length;
    kept = now;
    if (result.exitCode === 0 || result.exitCode === 3) break;
    note(result.stderr.trim().split('\n').slice(-4).join('\n'));
    await fault.mend?.(machine);
  }
  const absent = missing(study);
  const last = production.at(-1) ?? '';
  return {
    fault: fault.name,
    ended: ended.join(', then '),
    production: [...new Set(production)].join('; then '),
    measurements: `${String(kept.size)} stored, ${String(lost)} lost, ${String(absent.length)} missing${absent.length === 0 ? '' : ` (${absent.join(' ')})`}`,
    good: absent.length === 0 && lost === 0 && last.startsWith('as before'),
  };
}

/** A sweep that was refused at once has no database. */
function safeStored(study: Parameters<typeof stored>[0]): ReadonlyMap<string, number> {
  try {
    return stored(study);
  } catch {
    return new Map();
  }
}

/** Kills the tuner at random moments of one study, each time until the machine itself has restored. */
async function killMany(times: number): Promise<Row> {
  await using machine = await faultyMachine({ lease: '6s' });
  const { study } = machine;
  await served(study, BACK_SECONDS);
  const before = study.production();
  const command = study.command();
  let kept: ReadonlyMap<string, number> = new Map();
  let [lost, broken, slowest] = [0, 0, 0];
  for (let kill = 1; kill <= times; kill += 1) {
    const sweep = machine.sweep();
    await Promise.race([sweep.result, sleep(1000 + Math.random() * 24_000)]);
    sweep.kill('SIGKILL');
    await sweep.result;
    const seconds = await productionBack(study, command, BACK_SECONDS).catch((error: unknown) => {
      note(String(error));
      broken += 1;
      return BACK_SECONDS;
    });
    slowest = Math.max(slowest, seconds);
    await quiet(study, before);
    const difference = changed(study, before);
    if (difference !== '') {
      broken += 1;
      note(`kill ${String(kill)}: ${difference}`);
    }
    const now = safeStored(study);
    lost += [...kept].filter(([key, atMs]) => now.get(key) !== atMs).length;
    kept = now;
    note(`kill ${String(kill)}: back after ${seconds.toFixed(1)} s, ${String(kept.size)} stored`);
  }
  const { exitCode, stderr } = await machine.sweep().result;
  if (exitCode !== 0 && exitCode !== 3) note(stderr);
  const end = stored(study);
  lost += [...kept].filter(([key, atMs]) => end.get(key) !== atMs).length;
  const absent = missing(study);
  return {
    fault: `tuner killed with -9, ${String(times)} times`,
    ended: `killed; at last ${String(exitCode)}`,
    production: `as before ${String(times - broken)} of ${String(times)} times (slowest ${slowest.toFixed(0)} s)`,
    measurements: `${String(end.size)} stored, ${String(lost)} lost, ${String(absent.length)} missing`,
    good: broken === 0 && lost === 0 && absent.length === 0,
  };
}

/** Until the restore timer has put its things away. */
async function quiet(study: Parameters<typeof changed>[0], before: string): Promise<void> {
  for (let second = 0; second < 60 && changed(study, before) !== ''; second += 1) await sleep(1000);
}

async function main(words: readonly string[]): Promise<void> {
  const rows: Row[] = [];
  if (words[0] === 'kills') rows.push(await killMany(Number(words[1] ?? 30)));
  else {
    const chosen = faults.filter(
      ({ name }) => words.length === 0 || words.some((w) => name.includes(w)),
    );
    for (const fault of chosen) {
      note(fault.name);
      const row = await strikeOnce(fault).catch((error: unknown) => ({
        fault: fault.name,
        ended: '',
        production: error instanceof Error ? error.message : String(error),
        measurements: '',
        good: false,
      }));
      rows.push(row);
      console.log(tableRow(row));
    }
  }
  console.log(`\ncommit ${commit()}, load ${loadAverage()}\n`);
  console.log('| | fault | exit code | production | measurements |\n|---|---|---|---|---|');
  for (const row of rows) console.log(tableRow(row));
  process.exitCode = rows.every(({ good }) => good) ? 0 : 1;
}

function tableRow({ fault, ended, production, measurements, good }: Row): string {
  return `| ${good ? 'ok' : 'BAD'} | ${fault} | ${ended} | ${production} | ${measurements} |`;
}

await main(process.argv.slice(2));
