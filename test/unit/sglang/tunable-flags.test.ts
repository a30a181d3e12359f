import { describe, expect, test } from 'vitest';
import { lookupFlag } from '../../../src/sglang/flag-names.ts';
import { valueProblem } from '../../../src/sglang/flag-values.ts';
import { TUNABLE_FLAGS, tunableFlag } from '../../../src/sglang/tunable-flags.ts';
import { HELP_VERSIONS, sglangHelp } from '../../helpers/sglang-help.ts';

describe.each(TUNABLE_FLAGS)('--$name', ({ name, since }) => {
  test(`is shown by the help of ${since}, and by none before it`, () => {
    const shows = HELP_VERSIONS.filter((version) => {
      const found = lookupFlag(name, sglangHelp(version), version);
      return found.kind === 'known' && found.by === 'name';
    });
    expect(shows[0]).toBe(since);
  });

  test('takes every value that is said to be worth trying, in each version that has it', () => {
    for (const version of HELP_VERSIONS) {
      const flag = sglangHelp(version).flags.find((one) => one.name === name);
      const values = flag === undefined ? [] : (tunableFlag(flag)?.values ?? []);
      const tried = values.map((value) => (value === '~' ? null : value));
      if (flag === undefined) continue;
      expect(tried.length, version).toBeGreaterThan(0);
      for (const value of tried) expect(valueProblem(flag, value), version).toBeUndefined();
    }
  });
});
