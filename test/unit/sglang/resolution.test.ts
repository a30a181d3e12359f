import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { FlagValue } from '../../../src/search-space/assignment.ts';
import { sameValue } from '../../../src/search-space/values.ts';
import type { LaunchContext } from '../../../src/sglang/launch-context.ts';
import { flagDefaults } from '../../../src/sglang/launch-values.ts';
import { type LaunchPrediction, predictLaunch } from '../../../src/sglang/predict-launch.ts';
import { allRules } from '../../../src/sglang/rules/all-rules.ts';

type Values = Readonly<Record<string, FlagValue>>;

interface Recording {
  readonly sglang: string;
  readonly seed: number;
  readonly contexts: readonly {
    readonly mode: 'sm90' | 'sm100' | 'cpu';
    readonly model: 'qwen3' | 'qwen3.5';
    readonly count: number;
    readonly defaults: Values;
  }[];
}

/** One combination: what SGLang resolved it to, as the difference to no flags, or its error. */
interface Row {
  readonly context: number;
  readonly flags: Values;
  readonly differs?: Values;
  readonly error?: string;
}

const packed = new URL('../../fixtures/resolution/random-0.5.23.jsonl.gz', import.meta.url);
const lines = gunzipSync(readFileSync(packed)).toString('utf8').trimEnd().split('\n');
const recording = JSON.parse(lines[0] ?? '') as Recording;
const rows = lines.slice(1).map((line) => JSON.parse(line) as Row);

const machines: Record<'sm90' | 'sm100' | 'cpu', LaunchContext> = {
  sm90: {
    device: 'cuda',
    gpuName: 'NVIDIA H100 80GB HBM3',
    gpuCapability: '9.0',
    deviceMemoryGib: 80,
  },
  sm100: { device: 'cuda', gpuName: 'NVIDIA B200', gpuCapability: '10.0', deviceMemoryGib: 180 },
  cpu: { device: 'cpu', deviceMemoryGib: 24, hasAmx: false },
};
const architectures = {
  qwen3: 'Qwen3ForCausalLM',
  'qwen3.5': 'Qwen3_5MoeForConditionalGeneration',
};

const contexts = recording.contexts.map(
  ({ mode, model }): LaunchContext => ({
    ...machines[mode],
    version: recording.sglang,
    // The recording machine has no flashinfer, so that SGLang falls back to triton there.
    hasFlashinfer: false,
    modelArchitecture: architectures[model],
  }),
);

const graphFields: Record<string, string> = {
  decode_graph_backend: 'cuda-graph-backend-decode',
  decode_graph_max_bs: 'cuda-graph-max-bs-decode',
};

function flagOf(field: string): string {
  return graphFields[field] ?? field.replaceAll('_', '-');
}

/** Fields whose predicted value is not what SGLang resolved, as text. */
function differences(prediction: LaunchPrediction, row: Row): string[] {
  const expected = { ...recording.contexts[row.context]?.defaults, ...row.differs };
  return Object.entries(expected).flatMap(([field, value]) => {
    const flag = flagOf(field);
    const got = prediction.unknown.includes(flag)
      ? 'unknown'
      : (prediction.effective[flag] ?? flagDefaults[flag] ?? null);
    return sameValue(got, value) ? [] : [`${flag}: ${String(got)} instead of ${String(value)}`];
  });
}

type Class = 'legal' | 'rewritten' | 'illegal';

/** `rewritten`: SGLang resolved it, and a value that was asked for is not the one that runs. */
function classOf({ context, flags, differs, error }: Row): Class {
  if (error !== undefined) return 'illegal';
  const resolved: Values = { ...recording.contexts[context]?.defaults, ...differs };
  const fields = Object.keys(resolved);
  const isRewritten = Object.entries(flags).some(([flag, asked]) => {
    const field = fields.find((name) => flagOf(name) === flag);
    return field !== undefined && !sameValue(resolved[field] ?? null, asked);
  });
  const isLimited =
    resolved['max_running_requests'] === 48 && flags['max-running-requests'] === undefined;
  return isRewritten || isLimited ? 'rewritten' : 'legal';
}

interface Compared {
  readonly class: Class;
  readonly mismatch: string | undefined;
  readonly row: Row;
}

function compare(row: Row): Compared {
  const prediction = predictLaunch(row.flags, contexts[row.context] ?? {});
  const isRefused = prediction.verdict === 'illegal' && prediction.failsAt === 'arguments';
  const cls = classOf(row);
  if (cls === 'illegal') {
    return { class: cls, row, mismatch: isRefused ? undefined : `not refused: ${row.error ?? ''}` };
  }
  if (isRefused) return { class: cls, row, mismatch: `refused by ${prediction.ruleId ?? ''}` };
  const found = differences(prediction, row);
  return { class: cls, row, mismatch: found.length === 0 ? undefined : found.join('; ') };
}

const compared = rows.map(compare);

function ofClass(cls: Class): readonly Compared[] {
  return compared.filter((one) => one.class === cls);
}

describe(`ten thousand random combinations through SGLang ${recording.sglang}'s own argument code`, () => {
  test('the recording holds ten thousand, at least a fifth of each class', () => {
    expect(rows).toHaveLength(10_000);
    for (const cls of ['legal', 'rewritten', 'illegal'] as const)
      expect(ofClass(cls).length, cls).toBeGreaterThanOrEqual(2000);
  });

  test.each(['legal', 'rewritten', 'illegal'] as const)(
    'at most one in a hundred %s combinations is predicted otherwise',
    (cls) => {
      const all = ofClass(cls);
      const wrong = all.filter(({ mismatch }) => mismatch !== undefined);
      const shown = wrong
        .slice(0, 12)
        .map(
          ({ mismatch, row }) => `${row.context} ${JSON.stringify(row.flags)}: ${mismatch ?? ''}`,
        );
      expect(wrong.length / all.length, shown.join('\n')).toBeLessThanOrEqual(0.01);
    },
  );

  test('nearly every refusal is laid to the very line of SGLang that refuses', () => {
    const refused = ofClass('illegal').map(({ row }) => {
      const { ruleId } = predictLaunch(row.flags, contexts[row.context] ?? {});
      const source = allRules.find(({ id }) => id === ruleId)?.source;
      return { source: source?.split('/').at(-1), raised: row.error?.split(' ')[0] };
    });
    const elsewhere = refused.filter(({ source, raised }) => source !== raised);
    expect(elsewhere.length / refused.length, JSON.stringify(elsewhere.slice(0, 5))).toBeLessThan(
      0.01,
    );
  });
});
