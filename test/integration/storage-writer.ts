/**
 * Program for storage-crash.test.ts: resumes a study of 60 measurements in the file named by the
 * first argument, and prints a line once it begins.
 */
import { openStore } from '../../src/storage/open-store.ts';
import { identity, launch, metrics } from '../contract/study-store.contract.ts';

const [path = ''] = process.argv.slice(2);
using store = openStore(path);
const study = store.findStudy(identity.name) ?? store.createStudy(identity, 1);
store.interruptOpenLaunches(study.id);
const trials = store.planTrials(
  study.id,
  [{}, { a: 1 }, { a: 2 }].map((assignment, i) => ({
    assignment,
    isBaseline: i === 0,
    state: 'planned' as const,
  })),
);
process.stdout.write('writing\n');
for (const { id: trialId } of trials) {
  const measured = new Set(store.measuredKeys(trialId).map((key) => key.repeat));
  const launchId = launch(store, trialId);
  for (let repeat = 0; repeat < 20; repeat += 1) {
    if (measured.has(repeat)) continue;
    store.addMeasurement({
      launchId,
      trialId,
      round: 0,
      concurrency: 16,
      repeat,
      startedAtMs: 1,
      metrics: metrics(),
      records: Array.from({ length: 100 }, (_, index) => ({
        index,
        intendedAtMs: 0,
        sentAtMs: 0,
        endedAtMs: 1,
        chunkAtMs: [],
        chunkTokens: [],
        outputTokens: 1,
        promptTokens: 1,
        requestedOutputTokens: 1,
        tokensFrom: 'server' as const,
        outcome: 'completed' as const,
      })),
      conditions: {},
    });
  }
}
