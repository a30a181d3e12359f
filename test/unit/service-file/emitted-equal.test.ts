import fc from 'fast-check';
import { expect, test } from 'vitest';
import { emitDropIn } from '../../../src/service-file/drop-in.ts';
import { emitUnit } from '../../../src/service-file/emit-unit.ts';
import type { Service } from '../../../src/service-file/service.ts';
import { sglangHelp } from '../../helpers/sglang-help.ts';
import { service, unitText } from '../../helpers/unit-fixture.ts';

const help = sglangHelp('0.5.10');
const options = {
  unitName: 'sglang.service',
  readEnvironmentFile: () => 'ARGS="--tp-size 2 --mem-fraction-static 0.8 --enable-mixed-chunk"',
};
const units = fc.constantFrom(
  'sglang-qwen',
  'one-flag-per-line',
  'args-from-file',
  'quoted-list',
  'literal-path',
  'comments-inside',
  'prefixes',
);
const text = fc.constantFrom(null, 'x', 'a b', '"q"', "it's", '$X %n \\', '');
const count = fc.constantFrom(null, 1, 4, 8);
const bare = fc.constantFrom(null, true, false);
const assignments = fc.record(
  {
    'tp-size': count,
    port: count,
    host: text,
    'mem-fraction-static': fc.constantFrom(null, 0.5, 0.85),
    'enable-mixed-chunk': bare,
    'enable-torch-compile': bare,
    'cuda-graph-bs': fc.constantFrom(null, [1], [1, 2, 4, 8, 16]),
    'lora-paths': fc.constantFrom(null, ['a=b'], ['x y', 'z=1']),
    'json-model-override-args': fc.constantFrom(null, '{"a": "50%", "b": "$x"}'),
    'mamba-scheduler-strategy': fc.constantFrom(null, 'no_buffer'),
    'context-length': count,
    'served-model-name': text,
    'env.PATH': text,
    'env.NCCL_ALGO': text,
    'env.CUDA_HOME': text,
    'env.SGLANG_ENABLE_SPEC_V2': text,
    'env.NEW': text,
  },
  { requiredKeys: [] },
);

function started({ argv, environment }: Service): unknown {
  return { argv, environment: Object.fromEntries(Object.entries(environment).sort()) };
}

test('the emitted unit and the drop-in over the old one start the same process', () => {
  fc.assert(
    fc.property(units, assignments, (name, assignment) => {
      const before = unitText(`${name}.service`);
      const read = service(before, options);
      const emitted = emitUnit(read, assignment, help, options).service;
      const dropIn = emitDropIn(read, assignment, help, options);
      expect(started(service([before, dropIn], options))).toEqual(started(emitted));
    }),
    { numRuns: 300 },
  );
});
