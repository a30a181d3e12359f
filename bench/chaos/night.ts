/**
 * The share of a night that failures cost: 40 trials without any, and the same with some.
 * `npx tsx bench/chaos/night.ts [FAILING-SHARE] [SEED]`
 */
import _ from 'lodash';
import { type ChaoticSweep, chaoticSweep } from './chaotic-sweep.ts';
import { faultsOf, verdictsOf } from './check-sweep.ts';
import { confusionTable } from './confusion-table.ts';
import { FAILURES } from './failures.ts';

const [share = 0.3, seed = 1] = process.argv.slice(2).map(Number);
const parameters = {
  'speculative-num-steps': [1, 2, 3, 4],
  // Limits that the simulated memory can keep: what is not in force is measured no further.
  'max-running-requests': [null, 4, 8, 12, 16],
  'schedule-policy': ['lpm', 'fcfs'],
};
/** Those that end a whole sweep are another question. */
const failures = FAILURES.filter(({ outside }) => outside === undefined);

function show(name: string, sweep: ChaoticSweep): void {
  const launches = sweep.events.filter(({ type }) => type === 'launch-started').length;
  const counts = Object.entries(_.countBy(sweep.trials, ({ state }) => state)).map(
    ([state, count]) => `${String(count)} ${state}`,
  );
  console.log(
    `${name}: ${String(sweep.trials.length)} trials (${counts.join(', ')}), ${String(launches)} launches, ${String(sweep.measurements.length)} measurements, ${(sweep.seconds / 3600).toFixed(2)} simulated hours`,
  );
  for (const fault of faultsOf(sweep)) console.log(fault);
}

const calm = await chaoticSweep({ seed, failureFraction: 0, parameters });
show('without failures', calm);
const rough = await chaoticSweep({ seed, failureFraction: share, parameters, failures });
show('with failures   ', rough);
console.log(confusionTable(verdictsOf(rough)));
console.log(
  `time with failures / without: ${(rough.seconds / calm.seconds).toFixed(2)}; lost to launches that brought nothing: ${((100 * rough.lostSeconds) / rough.seconds).toFixed(1)} %`,
);
