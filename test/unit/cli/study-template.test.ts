import { describe, expect, test } from 'vitest';
import { flagValue, studyTemplate } from '../../../src/cli/study-template.ts';
import { parseStudy } from '../../../src/config/load-study.ts';

function template(flags: readonly string[], simulated = false) {
  const argv = ['python3', '-m', 'sglang.launch_server', ...flags];
  const text = studyTemplate({
    name: 'night',
    schemaPath: undefined,
    target: { unit_file: '/srv/sglang.service' },
    baseUrl: 'http://127.0.0.1:30000',
    argv,
    profile: '{ 1: 1 }',
    simulated,
  });
  return parseStudy(text, 'night.yaml', ['nightsweep']);
}

describe('a new study file', () => {
  test('of a speculating server has speculation on and off among its values', () => {
    const { parameters } = template([
      '--model-path',
      '/m/Qwen3.5-122B-A10B',
      '--speculative-algorithm',
      'NEXTN',
    ]);
    expect(parameters.get('speculative-algorithm')).toEqual(['NEXTN', null]);
    expect([...parameters.keys()]).toContain('enable-fused-moe-sum-all-reduce');
  });

  test('of a dense server without speculation searches memory and batching', () => {
    const { parameters } = template(['--model-path', '/m/Llama-70B']);
    expect([...parameters.keys()]).toEqual([
      'mem-fraction-static',
      'chunked-prefill-size',
      'schedule-policy',
    ]);
  });

  test('has production’s own value among those to try', () => {
    const { parameters } = template(['--mem-fraction-static=0.87']);
    expect(parameters.get('mem-fraction-static')).toEqual([0.8, 0.85, 0.87, 0.9]);
  });

  test('runs a simulated server only when that was asked for', () => {
    expect(template([]).target.program).toBeUndefined();
    expect(template([], true).target.program).toEqual(['nightsweep', 'simulate', '--speed', '20']);
  });
});

describe('the value of a flag', () => {
  test.each([
    [['--port', '1', '--port', '2'], '2'],
    [['--port=3'], '3'],
    [['--no-port', '4'], undefined],
  ])('in %j is %s', (argv, value) => {
    expect(flagValue(argv, 'port')).toBe(value);
  });
});
