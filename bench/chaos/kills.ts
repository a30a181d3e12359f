/**
 * Kills a sweep with SIGKILL at random moments and goes on with it, until it is through:
 * `npx tsx bench/chaos/kills.ts [KILLS] [KILLS-PER-STUDY]`, after `npm run build`.
 * However often it was killed, the same measurements must be there, each once, and nothing run on.
 */
import { leftOverAfter } from '../../test/helpers/left-over.ts';
import { type SimulatedStudy, simulatedStudy } from '../../test/helpers/simulated-study.ts';
import { exported, points } from '../../test/helpers/study-export.ts';

const [kills = 200, perStudy = 10] = process.argv.slice(2).map(Number);
const PARTS = {
  parameters: { 'schedule-policy': ['fcfs', 'lpm'], 'max-running-requests': [null, 2] },
  // Fifty simulated seconds a second say little about speed on a busy machine.
  measure: { give_up_below: 0 },
};
/** A sweep of the study takes about this long; a kill comes somewhere in the first half of it. */
const LONGEST_MS = 6000;

async function pointsAfter(study: SimulatedStudy): Promise<string> {
  const { exitCode, stderr } = await study.run('sweep');
  if (exitCode !== 0 && exitCode !== 3) throw new Error(`exit code ${String(exitCode)}: ${stderr}`);
  const all = await exported(study);
  for (const { trial, state, cause, reason } of all.trials) {
    if (state !== 'completed')
      console.log(`trial ${String(trial)}: ${state} ${cause ?? ''} ${reason ?? ''}`);
  }
  return points(all).join(' ');
}

async function killed(study: SimulatedStudy): Promise<{ hit: boolean; left: readonly string[] }> {
  const running = study.start('sweep');
  await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * LONGEST_MS));
  running.kill('SIGKILL');
  const { signal } = await running.result;
  const traces = { folder: study.folder, port: study.port, tuners: [running.pid] };
  return { hit: signal === 'SIGKILL', left: await leftOverAfter(10, traces) };
}

await using reference = await simulatedStudy(PARTS);
const wanted = await pointsAfter(reference);
console.log(`wanted: ${wanted}`);
let [done, faults] = [0, 0];
while (done < kills) {
  await using study = await simulatedStudy(PARTS);
  for (let i = 0; i < perStudy && done < kills; i += 1) {
    const { hit, left } = await killed(study);
    // It was through before the kill: this study has nothing more to lose.
    if (!hit) break;
    done += 1;
    if (left.length === 0) continue;
    faults += 1;
    console.log(`still running after a kill: ${left.join('; ')}`);
  }
  const found = await pointsAfter(study);
  if (found !== wanted) {
    faults += 1;
    console.log(`found: ${found}`);
  }
  console.log(`${String(done)} kills, ${String(faults)} faults`);
}
process.exitCode = faults > 0 ? 1 : 0;
