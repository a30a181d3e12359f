import type { FlagValue } from '../search-space/assignment.ts';
import { numericValue } from '../search-space/values.ts';
import { speculativeAlgorithms } from './rules/speculative-rules.ts';

/** SGLang's own defaults of flags that rules read; a flag that is not here is absent by default. */
export const flagDefaults: Readonly<Record<string, FlagValue>> = {
  'schedule-policy': 'fcfs',
  'schedule-conservativeness': 1,
  'retraction-policy': 'length',
  'kv-cache-dtype': 'auto',
  'num-continuous-decode-steps': 1,
  'mamba-radix-cache-strategy': 'auto',
  'mamba-track-interval': 256,
  'linear-attn-backend': 'triton',
  'speculative-ngram-max-bfs-breadth': 10,
  'speculative-accept-threshold-single': 1,
  'speculative-accept-threshold-acc': 1,
  'tp-size': 1,
  'pp-size': 1,
  'attn-dp-size': 1,
  'ep-size': 1,
  'max-prefill-tokens': 16384,
  'stream-interval': 1,
  'radix-eviction-policy': 'lru',
  'mamba-full-memory-ratio': 0.9,
  'speculative-attention-mode': 'prefill',
};

type Lookup = (name: string) => FlagValue | undefined;
type Derived = (lookup: Lookup) => FlagValue | undefined;

function from(name: string, compute: (value: FlagValue) => FlagValue): Derived {
  return (lookup) => {
    const value = lookup(name);
    return value === undefined ? undefined : compute(value);
  };
}

/**
 * Nodes of the draft tree with its root: `1 + topk + (steps - 1) x topk^2`. The verify step picks
 * its draft tokens from them (speculative/eagle_utils.py:100 at 0.5.23).
 */
function treeNodes(lookup: Lookup): FlagValue | undefined {
  const steps = numericValue(lookup('speculative-num-steps') ?? null);
  const topk = numericValue(lookup('speculative-eagle-topk') ?? null);
  if (steps === undefined || topk === undefined) return undefined;
  return 1 + (steps < 1 ? 0 : topk + (steps - 1) * topk * topk);
}

function orNull(isTrue: boolean): FlagValue {
  return isTrue ? true : null;
}

/** Names that conditions use and no flag has. */
const derived: Readonly<Record<string, Derived>> = {
  'tree-nodes': treeNodes,
  /** Tokens per chunk of the linear attention kernels (fla CHUNK_SIZE). */
  'fla-chunk': () => 64,
  'algorithm-unknown': from('speculative-algorithm', (value) =>
    orNull(!speculativeAlgorithms.includes(value as string | null)),
  ),
  'topk-not-one': from('speculative-eagle-topk', (value) =>
    orNull(value !== null && numericValue(value) !== 1),
  ),
  'page-of-trtllm': from('page-size', (value) =>
    orNull([16, 32, 64, 128].includes(numericValue(value) ?? 0)),
  ),
  'attention-backend-pages-trees': from('attention-backend', (value) =>
    orNull(value === 'flashinfer' || value === 'fa3' || value === 'triton'),
  ),
  'split-backends-differ': (lookup) => {
    const [a, b] = [lookup('prefill-attention-backend'), lookup('decode-attention-backend')];
    return a === undefined || b === undefined ? undefined : orNull(a !== b);
  },
};

/** Value of a derived name; of any other name that was never written, `null`: the flag is absent. */
export function derivedValue(name: string, lookup: Lookup): FlagValue | undefined {
  const compute = derived[name];
  return compute === undefined ? null : compute(lookup);
}

/** Names that exist for rules only and are no flags. */
export const internalNames: ReadonlySet<string> = new Set([
  ...Object.keys(derived),
  'decode-graph-size-is-default',
  'uses-mamba-radix-cache',
  'no-extra-buffer',
  'linear-decode',
]);
