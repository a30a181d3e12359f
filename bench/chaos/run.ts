/**
 * Many sweeps with random failures. `npx tsx bench/chaos/run.ts [SWEEPS] [FIRST-SEED] [AT-A-TIME]`.
 * Prints faults as they show, and at the end what was injected against what was found.
 */
import { type ChaoticSweep, chaoticSweep } from './chaotic-sweep.ts';
import { faultsOf, verdictsOf } from './check-sweep.ts';
import { confusionTable } from './confusion-table.ts';

const [sweeps = 1000, firstSeed = 1, atATime = 8] = process.argv.slice(2).map(Number);
/** A sweep takes seconds; one with other clients, on a busy machine, a minute. */
const LIMIT_MS = 180_000;
const verdicts: ReturnType<typeof verdictsOf>[number][] = [];
let [next, faults, done] = [0, 0, 0];
const startedAtMs = performance.now();

/** Undefined for a sweep that does not end by itself. */
async function inTime(seed: number): Promise<ChaoticSweep | undefined> {
  const trace: string[] = [];
  const sweep = chaoticSweep({ seed, failureFraction: 0.6, trace: (line) => trace.push(line) });
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => {
      resolve(undefined);
    }, LIMIT_MS).unref();
  });
  const ended = await Promise.race([sweep, late]);
  if (ended === undefined) console.log(trace.slice(-8).join('\n'));
  return ended;
}

async function worker(): Promise<void> {
  while (next < sweeps) {
    const seed = firstSeed + next++;
    const sweep = await inTime(seed);
    if (sweep === undefined) {
      faults += 1;
      console.log(`sweep ${String(seed)}: did not end within ${String(LIMIT_MS / 1000)} s`);
      continue;
    }
    for (const fault of faultsOf(sweep)) {
      faults += 1;
      console.log(fault);
    }
    const found = verdictsOf(sweep);
    for (const { injected, found: what, right } of found) {
      if (!right) console.log(`sweep ${String(seed)}: ${injected} was taken for ${what}`);
    }
    verdicts.push(...found);
    done += 1;
    if (done % 250 === 0) console.log(confusionTable(verdicts));
    if (done % 25 === 0) {
      const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
      const wrong = verdicts.filter(({ right }) => !right).length;
      console.log(
        `${String(done)} sweeps, ${String(verdicts.length)} trials, ${String(wrong)} wrong causes, ${String(faults)} faults, ${seconds} s`,
      );
    }
  }
}

await Promise.all(Array.from({ length: atATime }, worker));
console.log(confusionTable(verdicts));
const wrong = verdicts.filter(({ right }) => !right).length;
console.log(
  `\n${String(done)} sweeps, ${String(verdicts.length)} trials: ${String(wrong)} wrong causes, ${String(faults)} other faults`,
);
// Servers that were made to hang keep timers for long.
process.exit(wrong + faults > 0 ? 1 : 0);
