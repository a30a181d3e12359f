import { expect, test } from 'vitest';
import { launchCommand } from '../../../src/service-file/launch-command.ts';

test('quotes what a shell would act on', () => {
  expect(launchCommand(['sglang', 'serve', '--json', '{"a": "$x"}', ''])).toBe(
    `sglang serve --json '{"a": "$x"}' ''`,
  );
});

test('sets variables through env', () => {
  expect(launchCommand(['sglang', 'serve'], { NCCL_ALGO: 'Tree', X: 'a b' })).toBe(
    "env NCCL_ALGO=Tree 'X=a b' sglang serve",
  );
});
