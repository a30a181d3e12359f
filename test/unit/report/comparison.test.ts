import { expect, test } from 'vitest';
import { type ComparedTrial, differencesOf } from '../../../src/report/comparison.ts';
import { manyTrials } from '../../helpers/many-trials.ts';

/** The baseline of a study whose servers ran this version. */
function side(sglangVersion: string | null): ComparedTrial {
  const { store, study } = manyTrials(1);
  const [data] = store.trialData(study.id);
  if (data === undefined) throw new Error('the study has no trial');
  const launches = store.launches(study.id).map((one) => ({ ...one, sglangVersion }));
  return { study, data, launches, isSimulated: false };
}

test('trials of two SGLang versions are not comparable (B10)', () => {
  expect(differencesOf(side('0.5.23'), side('0.5.24'))).toEqual([
    { what: 'SGLang version', a: '0.5.23', b: '0.5.24', forbids: true },
  ]);
});

test('a version that is not known is named and forbids nothing', () => {
  expect(differencesOf(side('0.5.23'), side(null))).toEqual([
    { what: 'SGLang version', a: '0.5.23', b: 'unknown', forbids: false },
  ]);
});
