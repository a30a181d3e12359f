import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { FlagValue } from '../../src/search-space/assignment.ts';
import { sameValue } from '../../src/search-space/values.ts';
import type { LaunchContext } from '../../src/sglang/launch-context.ts';
import { flagDefaults } from '../../src/sglang/launch-values.ts';
import { type LaunchPrediction, predictLaunch } from '../../src/sglang/predict-launch.ts';

type Values = Readonly<Record<string, FlagValue>>;
type Mode = 'sm90' | 'sm100' | 'sm120' | 'cpu';

/** What test/real/record_resolution.py writes first. */
interface Header {
  readonly sglang: string;
  readonly seed: number;
  readonly contexts: readonly {
    readonly mode: Mode;
    readonly model: keyof typeof architectures;
    readonly count: number;
    readonly defaults: Values;
  }[];
}

/** One combination: what SGLang resolved it to, as the difference to no flags, or its error. */
export interface Row {
  readonly context: number;
  readonly flags: Values;
  readonly differs?: Values;
  readonly error?: string;
}

export type Class = 'legal' | 'rewritten' | 'illegal';

/** A combination beside its prediction; `mismatch` says what was predicted otherwise. */
export interface Compared {
  readonly class: Class;
  readonly mismatch: string | undefined;
  readonly row: Row;
  readonly prediction: LaunchPrediction;
}

const machines: Record<Mode, LaunchContext> = {
  sm90: {
    device: 'cuda',
    gpuName: 'NVIDIA H100 80GB HBM3',
    gpuCapability: '9.0',
    deviceMemoryGib: 80,
  },
  sm100: { device: 'cuda', gpuName: 'NVIDIA B200', gpuCapability: '10.0', deviceMemoryGib: 180 },
  sm120: {
    device: 'cuda',
    gpuName: 'NVIDIA RTX PRO 6000 Blackwell Workstation Edition',
    gpuCapability: '12.0',
    deviceMemoryGib: 96,
  },
  cpu: { device: 'cpu', deviceMemoryGib: 24, hasAmx: false },
};
const architectures = {
  qwen3: 'Qwen3ForCausalLM',
  'qwen3.5': 'Qwen3_5MoeForConditionalGeneration',
  llama: 'LlamaForCausalLM',
  'deepseek-v3': 'DeepseekV3ForCausalLM',
};
const graphFields: Record<string, string> = {
  decode_graph_backend: 'cuda-graph-backend-decode',
  decode_graph_max_bs: 'cuda-graph-max-bs-decode',
};

function flagOf(field: string): string {
  return graphFields[field] ?? field.replaceAll('_', '-');
}

/** One recording of what SGLang's own argument code decides, compared with the rules. */
export class ResolutionRecording {
  readonly header: Header;
  readonly rows: readonly Row[];
  readonly compared: readonly Compared[];

  constructor(file: URL | string) {
    const lines = gunzipSync(readFileSync(file)).toString('utf8').trimEnd().split('\n');
    this.header = JSON.parse(lines[0] ?? '') as Header;
    this.rows = lines.slice(1).map((line) => JSON.parse(line) as Row);
    const contexts = this.header.contexts.map(
      ({ mode, model }): LaunchContext => ({
        ...machines[mode],
        version: this.header.sglang,
        // The recording machine has no flashinfer, so that SGLang falls back to triton there.
        hasFlashinfer: false,
        modelArchitecture: architectures[model],
      }),
    );
    this.compared = this.rows.map((row) => this.#compare(row, contexts[row.context] ?? {}));
  }

  ofClass(cls: Class): readonly Compared[] {
    return this.compared.filter((one) => one.class === cls);
  }

  /** Those predicted otherwise, as text: context, flags, what differs. */
  mismatches(cls: Class): readonly string[] {
    return this.ofClass(cls).flatMap(({ mismatch, row }) =>
      mismatch === undefined ? [] : [`${row.context} ${JSON.stringify(row.flags)}: ${mismatch}`],
    );
  }

  #compare(row: Row, context: LaunchContext): Compared {
    const prediction = predictLaunch(row.flags, context);
    const isRefused = prediction.verdict === 'illegal' && prediction.failsAt === 'arguments';
    const cls = this.#classOf(row);
    const found = (mismatch: string | undefined) => ({ class: cls, row, mismatch, prediction });
    if (row.error !== undefined) return found(isRefused ? undefined : `not refused: ${row.error}`);
    if (isRefused) return found(`refused by ${prediction.ruleId ?? ''}`);
    const differing = this.#differences(prediction, row);
    return found(differing.length === 0 ? undefined : differing.join('; '));
  }

  /** `rewritten`: SGLang resolved it, and a value that was asked for is not the one that runs. */
  #classOf({ context, flags, differs, error }: Row): Class {
    if (error !== undefined) return 'illegal';
    const resolved: Values = { ...this.header.contexts[context]?.defaults, ...differs };
    const fields = Object.keys(resolved);
    const isRewritten = Object.entries(flags).some(([flag, asked]) => {
      const field = fields.find((name) => flagOf(name) === flag);
      return field !== undefined && !sameValue(resolved[field] ?? null, asked);
    });
    const isLimited =
      resolved['max_running_requests'] === 48 && flags['max-running-requests'] === undefined;
    return isRewritten || isLimited ? 'rewritten' : 'legal';
  }

  /** Fields whose predicted value is not what SGLang resolved, as text. */
  #differences(prediction: LaunchPrediction, row: Row): string[] {
    const expected = { ...this.header.contexts[row.context]?.defaults, ...row.differs };
    return Object.entries(expected).flatMap(([field, value]) => {
      const flag = flagOf(field);
      const got = prediction.unknown.includes(flag)
        ? 'unknown'
        : (prediction.effective[flag] ?? flagDefaults[flag] ?? null);
      return sameValue(got, value) ? [] : [`${flag}: ${String(got)} instead of ${String(value)}`];
    });
  }
}
