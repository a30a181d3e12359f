import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import { openStore } from '../../src/storage/open-store.ts';
import { identity, launch, metrics } from '../contract/study-store.contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'nightsweep-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test('a disk that fills up ends the writer with an error that says so, and every measurement before can be read', () => {
  const path = join(folder, 'full.sqlite');
  let stored = 0;
  let problem: unknown;
  {
    using store = openStore(path, { maxPages: 60 });
    const study = store.createStudy(identity, 1);
    const [trial] = store.planTrials(study.id, [
      { assignment: {}, isBaseline: true, state: 'planned' },
    ]);
    const trialId = trial?.id ?? 0;
    const launchId = launch(store, trialId);
    try {
      for (let repeat = 0; repeat < 10_000; repeat += 1) {
        const key = { round: 0, concurrency: 4, repeat };
        const conditions = { note: 'x'.repeat(1000) };
        store.addMeasurement({
          ...key,
          launchId,
          trialId,
          startedAtMs: 1,
          metrics: metrics(),
          records: [],
          conditions,
        });
        stored += 1;
      }
    } catch (error) {
      problem = error;
    }
  }
  expect(problem).toBeInstanceOf(UserError);
  expect(String(problem)).toContain('cannot grow: the disk is full');
  using reader = openStore(path, { readOnly: true });
  expect(reader.measurements(1)).toHaveLength(stored);
  expect(reader.integrityProblems()).toEqual([]);
});
