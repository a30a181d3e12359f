import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PointMetrics } from '../../src/metrics/point-metrics.ts';
import type { RequestRecord } from '../../src/metrics/request-record.ts';
import type { GpuState } from '../../src/server/gpu-smi.ts';
import {
  type NewMeasurement,
  RefusedMeasurementError,
  type StudyIdentity,
  type StudyStore,
} from '../../src/storage/study-store.ts';

export const identity: StudyIdentity = {
  name: 'agentic',
  workload: { prompts: 'code', output_tokens: 1000 },
  profile: new Map([
    [1, 0.5],
    [16, 0.5],
  ]),
  scoreKind: 'relative',
  limits: ['p99_ttft_ms <= 4000'],
  sglangVersion: '0.5.23',
  baselineArgv: ['python3', '-m', 'sglang.launch_server'],
  unitText: '',
  helpText: '',
  seed: 7,
};

/** Metrics of a good measurement; `over` replaces what the test is about. */
export function metrics(over: Partial<PointMetrics> = {}): PointMetrics {
  return {
    concurrency: 16,
    requests: 48,
    completed: 48,
    failed: 0,
    failureFraction: 0,
    shortFraction: 0,
    outputTokens: 48_000,
    promptTokens: 48_000,
    cachedTokens: null,
    durationSeconds: 40,
    wholeRunTokensPerSecond: 1100,
    steadyTokensPerSecond: 1200,
    steadyWindowMs: [0, 1],
    outputTokensPerSecond: 1200,
    throughputKind: 'steady',
    requestsPerSecond: 1.2,
    perRequestTokensPerSecond: 80,
    decodingConcurrency: 15,
    ttftMs: { n: 48, mean: 50, median: 49, p90: 60, p95: 61, p99: 70, min: 40, max: 70 },
    itlMs: null,
    tpotMs: null,
    e2eMs: null,
    acceptLength: 1.8,
    tokensFrom: 'server',
    marks: [],
    ...over,
  };
}

const request: RequestRecord = {
  index: 0,
  intendedAtMs: 0,
  sentAtMs: 0.5,
  firstTokenAtMs: 50,
  lastTokenAtMs: 900,
  endedAtMs: 901,
  chunkAtMs: [50, 475, 900],
  chunkTokens: [1, 500, 1000],
  outputTokens: 1000,
  promptTokens: 1000,
  requestedOutputTokens: 1000,
  verifyCount: 555,
  finishReason: 'length',
  tokensFrom: 'server',
  outcome: 'completed',
};

/** A launch of trial `trialId` that is ready unless `ready` is false. */
export function launch(store: StudyStore, trialId: number, ready = true): number {
  const id = store.startLaunch({
    trialId,
    startedAtMs: 1000,
    argv: ['python3', '--max-running-requests', '48'],
    environment: { NCCL_ALGO: 'Ring' },
    logPath: 'launch-1.log',
    versions: { torch: '2.12.0' },
  });
  if (ready) {
    store.launchReady(id, {
      readySeconds: 90,
      effective: { max_running_requests: 26 },
      sglangVersion: '0.5.23',
    });
  }
  return id;
}

/** What every study store promises. */
export function studyStoreContract(name: string, open: () => StudyStore): void {
  describe(`a study store (${name})`, () => {
    let store: StudyStore;
    let studyId: number;
    let trialId: number;

    beforeEach(() => {
      store = open();
      studyId = store.createStudy(identity, 5).id;
      const [baseline] = store.planTrials(studyId, [
        { assignment: {}, isBaseline: true, state: 'planned' },
      ]);
      trialId = baseline?.id ?? -1;
    });
    afterEach(() => {
      store[Symbol.dispose]();
    });

    const measurement = (over: Partial<NewMeasurement> = {}): NewMeasurement => ({
      launchId: launch(store, trialId),
      trialId,
      round: 0,
      concurrency: 16,
      repeat: 0,
      startedAtMs: 2000,
      metrics: metrics(),
      records: [request],
      conditions: { salt: 'a' },
      ...over,
    });

    test('gives a study back as it was stored', () => {
      expect(store.findStudy('agentic')).toEqual({ ...identity, id: studyId, createdAtMs: 5 });
    });

    test('refuses a second study of the same name', () => {
      expect(() => store.createStudy(identity, 6)).toThrow('already a study named agentic');
    });

    test('numbers the baseline 0 and the others in the order they come', () => {
      const trials = store.planTrials(studyId, [
        { assignment: { a: 1 }, isBaseline: false, state: 'planned' },
        { assignment: { a: 2 }, isBaseline: false, state: 'skipped', reason: 'rule' },
      ]);
      expect(trials.map((t) => [t.number, t.state, t.reason])).toEqual([
        [0, 'planned', null],
        [1, 'planned', null],
        [2, 'skipped', 'rule'],
      ]);
    });

    test('adds only new assignments, whatever the order of their flags', () => {
      store.planTrials(studyId, [
        { assignment: { a: 1, b: 2 }, isBaseline: false, state: 'planned' },
      ]);
      const trials = store.planTrials(studyId, [
        { assignment: { b: 2, a: 1 }, isBaseline: false, state: 'planned' },
        { assignment: { a: 3 }, isBaseline: false, state: 'planned' },
      ]);
      expect(trials.map((t) => t.assignment)).toEqual([{}, { a: 1, b: 2 }, { a: 3 }]);
    });

    test('keeps what a trial came to when the study is planned again', () => {
      store.setTrialState(trialId, 'completed', null, null);
      const [again] = store.planTrials(studyId, [
        { assignment: {}, isBaseline: true, state: 'planned' },
      ]);
      expect(again?.state).toBe('completed');
    });

    test('has one baseline per study', () => {
      expect(() =>
        store.planTrials(studyId, [{ assignment: { a: 1 }, isBaseline: true, state: 'planned' }]),
      ).toThrow('another baseline');
    });

    test('stores argv, environment, versions and seed with every launch', () => {
      launch(store, trialId);
      expect(store.launches(studyId)).toMatchObject([
        {
          argv: ['python3', '--max-running-requests', '48'],
          environment: { NCCL_ALGO: 'Ring' },
          versions: { torch: '2.12.0' },
          seed: 7,
          effective: { max_running_requests: 26 },
          state: 'running',
        },
      ]);
    });

    test('keeps secrets of argv and environment off the disk', () => {
      store.startLaunch({
        trialId,
        startedAtMs: 1,
        argv: ['x', '--api-key', 'sk-very-secret'],
        environment: { HF_TOKEN: 'hf_very_secret' },
        logPath: '',
      });
      expect(JSON.stringify(store.launches(studyId))).not.toMatch(/very.secret/);
    });

    test('gives a measurement back with its requests, without chunk arrays', () => {
      const id = store.addMeasurement(measurement());
      const { chunkAtMs, chunkTokens, ...scalars } = request;
      expect(chunkTokens).toHaveLength(chunkAtMs.length);
      expect(store.measurements(studyId)).toMatchObject([{ id, metrics: metrics() }]);
      expect(store.requests(id)).toEqual([{ ...scalars, chunks: 3 }]);
    });

    test('keeps the error of a failed request', () => {
      const error = { kind: 'refused', message: 'busy', httpStatus: 503 } as const;
      const failed = { ...request, outcome: 'failed', error } as const;
      const id = store.addMeasurement(measurement({ records: [failed] }));
      expect(store.requests(id)[0]?.error).toEqual(error);
    });

    // Field report D16: the benchmark ran although the server was not up, rows with 0 were stored.
    test('gives what the GPUs did during a measurement back, by moment and GPU', () => {
      const gpu = (index: number): GpuState => ({
        index,
        uuid: `GPU-${String(index)}`,
        name: 'NVIDIA H200',
        driverVersion: '570.86.15',
        computeCapability: '9.0',
        memoryTotalMib: 143771,
        memoryUsedMib: 90_000,
        temperatureCelsius: 61,
        smClockMhz: 1755,
        powerWatts: index === 0 ? 640.5 : undefined,
        throttleReasons: index === 0 ? ['sw_power_cap'] : [],
      });
      const id = store.addMeasurement(
        measurement({
          gpuSamples: [
            { takenAtMs: 9000, gpus: [gpu(0)] },
            { takenAtMs: 4000, gpus: [gpu(1), gpu(0)] },
          ],
        }),
      );
      const seen = store.gpuSamples(id);
      expect(seen.map((one) => [one.takenAtMs, one.gpuIndex, one.powerWatts])).toEqual([
        [4000, 0, 640.5],
        [4000, 1, null],
        [9000, 0, 640.5],
      ]);
      expect(seen[0]).toMatchObject({
        temperatureCelsius: 61,
        smClockMhz: 1755,
        memoryUsedMib: 90_000,
        throttleReasons: ['sw_power_cap'],
      });
      expect(store.gpuSamples(id + 1)).toEqual([]);
    });

    test('refuses a measurement of a launch that was never ready (D16)', () => {
      const launchId = launch(store, trialId, false);
      expect(() => store.addMeasurement(measurement({ launchId }))).toThrow(
        RefusedMeasurementError,
      );
    });

    test.each([
      ['zero throughput', { outputTokensPerSecond: 0 }],
      ['NaN throughput', { outputTokensPerSecond: Number.NaN }],
      ['an infinite figure', { requestsPerSecond: Number.POSITIVE_INFINITY }],
      [
        'a NaN percentile',
        { ttftMs: { n: 1, mean: 1, median: 1, p90: 1, p95: 1, p99: Number.NaN, min: 1, max: 1 } },
      ],
    ])('refuses %s and stores nothing (D16)', (_, over) => {
      expect(() => store.addMeasurement(measurement({ metrics: metrics(over) }))).toThrow(
        RefusedMeasurementError,
      );
      expect(store.measurements(studyId)).toEqual([]);
    });

    test('refuses a launch of another trial', () => {
      const other = store.planTrials(studyId, [
        { assignment: { a: 1 }, isBaseline: false, state: 'planned' },
      ])[1];
      const launchId = launch(store, other?.id ?? -1);
      expect(() => store.addMeasurement(measurement({ launchId }))).toThrow();
    });

    test('never holds a measurement twice (D8)', () => {
      store.addMeasurement(measurement());
      expect(() => store.addMeasurement(measurement())).toThrow('measured already');
      expect(store.measuredKeys(trialId)).toEqual([{ round: 0, concurrency: 16, repeat: 0 }]);
    });

    test('ends launches that a killed sweep left open', () => {
      launch(store, trialId);
      expect(store.interruptOpenLaunches(studyId)).toBe(1);
      expect(store.launches(studyId)[0]?.state).toBe('interrupted');
    });

    test('hands the ranking every trial that was measured or ended without', () => {
      store.planTrials(studyId, [
        { assignment: { a: 1 }, isBaseline: false, state: 'infeasible', reason: 'out of memory' },
        { assignment: { a: 2 }, isBaseline: false, state: 'planned' },
        { assignment: { a: 3 }, isBaseline: false, state: 'skipped' },
      ]);
      store.addMeasurement(measurement());
      expect(store.trialData(studyId).map((t) => [t.trial, t.state, t.cells.size])).toEqual([
        [0, 'completed', 1],
        [1, 'infeasible', 0],
      ]);
    });

    test('hands the ranking latencies by the names that limits use', () => {
      store.addMeasurement(measurement());
      const [sample] = store.trialData(studyId)[0]?.cells.get(16) ?? [];
      expect(sample?.metrics).toMatchObject({
        p99_ttft_ms: 70,
        failure_fraction: 0,
        accept_length: 1.8,
      });
    });

    test('tells the ranking where a launch died under load', () => {
      store.endLaunch(launch(store, trialId), {
        state: 'crashed',
        cause: 'exited',
        message: 'died',
        exitCode: 0,
        exitSignal: null,
        logTail: ['last words'],
        crashedAtConcurrency: 16,
      });
      store.setTrialState(trialId, 'partial', 'exited', 'died');
      expect(store.trialData(studyId)[0]?.crashedAt).toEqual([16]);
    });

    test('remembers anything about a study under a key', () => {
      store.setStudyMeta(studyId, 'finalists', [1, 2]);
      store.setStudyMeta(studyId, 'finalists', [3]);
      expect([store.studyMeta(studyId, 'finalists'), store.studyMeta(studyId, 'other')]).toEqual([
        [3],
        undefined,
      ]);
    });

    test('finds nothing wrong with itself', () => {
      store.addMeasurement(measurement());
      expect(store.integrityProblems()).toEqual([]);
    });
  });
}
