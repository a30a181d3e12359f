import { rankTrials } from '../../src/ranking/rank-trials.ts';
import type { ReportInput } from '../../src/report/html-report-data.ts';
import type { GpuSample } from '../../src/server/gpu-clocks.ts';
import { openStore } from '../../src/storage/open-store.ts';
import type { StoredStudy, StudyStore } from '../../src/storage/study-store.ts';
import { identity, launch, metrics } from '../contract/study-store.contract.ts';

const CONCURRENCIES = [1, 4, 16, 32, 64, 128];
const PROFILE = new Map(CONCURRENCIES.map((c) => [c, c < 64 ? 0.2 : 0.1]));

/**
 * A study of `count` trials in memory, each measured at six concurrencies in one launch, the
 * first five in `launchesOfFirst`. The speed of a trial grows with its number and has a fixed pattern.
 */
export function manyTrials(
  count: number,
  launchesOfFirst = 3,
): { store: StudyStore; study: StoredStudy } {
  const store = openStore(':memory:');
  const study = store.createStudy({ ...identity, profile: PROFILE, limits: [] }, 1000);
  const trials = store.planTrials(
    study.id,
    Array.from({ length: count }, (_, i) => ({
      assignment: {
        'max-running-requests': i + 1,
        'speculative-algorithm': i % 2 ? 'NEXTN' : null,
      },
      isBaseline: i === 0,
      state: 'completed' as const,
    })),
  );
  for (const { id, number } of trials) {
    for (let round = 0; round < (number < 5 ? launchesOfFirst : 1); round += 1) {
      const launchId = launch(store, id);
      for (const concurrency of CONCURRENCIES) {
        const speed = 90 * concurrency ** 0.8 * (1 + number / 1000) * (1 + round / 500);
        store.addMeasurement({
          launchId,
          trialId: id,
          round,
          concurrency,
          repeat: 0,
          startedAtMs: 2000 + number * 1000 + concurrency,
          metrics: metrics({
            concurrency,
            outputTokensPerSecond: speed,
            steadyTokensPerSecond: speed,
          }),
          records: [],
          conditions: {},
          gpuSamples: [gpuSample(2000 + number * 1000 + concurrency, number)],
        });
      }
      store.endLaunch(launchId, {
        state: 'completed',
        cause: null,
        message: null,
        exitCode: 0,
        exitSignal: null,
        logTail: [],
      });
    }
  }
  return { store, study };
}

/** Two GPUs, the second hotter and slower; both get warmer with the trials, up to a limit. */
function gpuSample(takenAtMs: number, trial: number): GpuSample {
  const gpus = [0, 1].map((index) => ({
    index,
    uuid: `GPU-${index}`,
    name: 'NVIDIA H200',
    driverVersion: '570.1',
    computeCapability: '9.0',
    memoryTotalMib: 143_000,
    memoryUsedMib: 120_000,
    powerWatts: 500,
    temperatureCelsius: 60 + 10 * index + Math.min(10, trial),
    smClockMhz: 1980 - 60 * index,
    throttleReasons: index === 1 && trial > 8 ? ['sw_power_cap'] : [],
  }));
  return { takenAtMs, gpus };
}

/** What the report of such a study is made from. */
export function reportInput({ store, study }: ReturnType<typeof manyTrials>): ReportInput {
  const ranking = rankTrials({
    trials: store.trialData(study.id),
    profile: study.profile,
    scoreKind: 'relative',
  });
  return {
    store,
    study,
    outcome: { state: 'ranked', ranking },
    recommendation: { state: 'none', problem: 'made for a test' },
    unitPath: null,
    version: '0.0.0',
    madeAtMs: 3000,
  };
}
