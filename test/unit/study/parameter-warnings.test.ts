import { expect, test } from 'vitest';
import { parseStudy } from '../../../src/config/load-study.ts';
import { parameterWarnings } from '../../../src/study/parameter-warnings.ts';
import { sglangHelp } from '../../helpers/sglang-help.ts';

function warnings(version: '0.5.10' | '0.5.20' | '0.5.23', known: string | null, name: string) {
  const study = parseStudy(
    `study: a
target: { command: [python3, -m, sglang.launch_server], base_url: http://127.0.0.1:30000 }
profile: { 1: 1 }
parameters:
  ${name}: [1, 2]
`,
    '/a.yaml',
  );
  return parameterWarnings(study, { help: sglangHelp(version), version: known });
}

test('a name of today has no warning', () => {
  expect(warnings('0.5.23', '0.5.23', 'cuda-graph-max-bs-decode')).toEqual([]);
});

test('an old name that help hides and the version may accept is a warning with line and new name', () => {
  expect(warnings('0.5.20', null, 'cuda-graph-max-bs')).toEqual([
    '/a.yaml:5: cuda-graph-max-bs is an old name that help does not show: write cuda-graph-max-bs-decode',
  ]);
});

test('an alias that is no old name has none: tp for tp-size', () => {
  expect(warnings('0.5.23', '0.5.23', 'tp')).toEqual([]);
});

test('an old name that help still shows is a warning, too', () => {
  expect(warnings('0.5.10', '0.5.10', 'stream-output')).toEqual([
    '/a.yaml:5: stream-output is an old name: write incremental-streaming-output',
  ]);
});
