import { expect, test } from 'vitest';
import { launchCommand, launchCommandFile } from '../../../src/service-file/launch-command.ts';

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

test('the file holds the swept variables, set and unset, as the trial had them', () => {
  const assignment = { 'env.A': 'x y', 'env.ON': true, 'env.OFF': false, 'env.GONE': null, f: 1 };
  expect(launchCommandFile(['sglang', 'serve', '--f', '1'], assignment)).toBe(
    "env -u OFF -u GONE 'A=x y' ON=1 sglang serve --f 1\n",
  );
});

test('the file names each masked key that must be filled in, and holds none', () => {
  const argv = ['sglang', 'serve', '--api-key', 'k1', '--admin-api-key=k2', '--port', '1'];
  const text = launchCommandFile(argv, { 'env.HF_TOKEN': 'k3' });
  const [note, command] = text.split('\n');
  expect(note).toContain('Fill in: --api-key, --admin-api-key, HF_TOKEN');
  expect(command).toContain('sglang serve');
  expect(text).not.toMatch(/k[123]/);
});
