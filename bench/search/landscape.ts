import type { Assignment, FlagValue } from '../../src/search-space/assignment.ts';
import { assignmentKey } from '../../src/search-space/assignment.ts';
import type { Constraint } from '../../src/search-space/constraints.ts';
import { feasibleAssignments } from '../../src/search-space/grid.ts';
import type { SearchSpace } from '../../src/search-space/space.ts';
import { expectedTokensPerSecond } from '../../src/simulator/closed-loop.ts';
import type { PerformanceSettings } from '../../src/simulator/performance-model.ts';
import { normalSource, uniformSource } from './simulated-study.ts';

/** A space whose every assignment has a known true score. */
export interface Landscape {
  readonly space: SearchSpace;
  readonly baseline: Assignment;
  /** Legal assignments in grid order. */
  readonly legal: readonly Assignment[];
  /** True log score; undefined where the server does not survive. */
  readonly truth: (assignment: Assignment) => number | undefined;
  /** Highest truth over the grid. */
  readonly best: number;
}

type Pick = readonly [name: string, values: readonly FlagValue[]];

/** Flags whose effect the landscape draws; the simulator's model has the others. */
const DRAWN: readonly Pick[] = [
  ['attention-backend', ['flashinfer', 'triton', 'fa3']],
  ['moe-runner-backend', ['auto', 'triton', 'flashinfer_cutlass']],
  ['enable-fused-moe-sum-all-reduce', [false, true]],
  ['disable-overlap-schedule', [false, true]],
  ['enable-mixed-chunk', [false, true]],
  ['env.NCCL_ALGO', ['Ring', 'Tree']],
  ['schedule-policy', ['fcfs', 'lpm', 'random']],
  ['num-continuous-decode-steps', [1, 2, 4]],
];

/** Speculation is off: its flags are absent. */
const OFF: Constraint = {
  text: 'without speculation its flags are absent',
  when: { 'speculative-algorithm': { kind: 'equals', value: null } },
  require: {
    'speculative-num-steps': { kind: 'equals', value: null },
    'speculative-eagle-topk': { kind: 'equals', value: null },
  },
};

/**
 * Draws a landscape with a legal grid of `least` to `most` assignments: speculation, running limit
 * and prefill chunks as the simulator's performance model has them, other flags with drawn main
 * effects (sd 0.5 to 3 %) and drawn interactions (sd 0.5 to 1.5 %), under a drawn profile, with
 * combinations that run out of memory.
 */
export function drawLandscape(seed: number, least = 48, most = 400): Landscape {
  for (let attempt = 0; ; attempt += 1) {
    const uniform = uniformSource(seed * 1000 + attempt);
    const space = drawSpace(uniform);
    const legal = [...feasibleAssignments(space)];
    if (legal.length < least || legal.length > most) continue;
    const truth = drawTruth(space, uniform, normalSource(seed * 1000 + attempt + 500));
    const baseline: Assignment = {
      ...Object.fromEntries(
        [...space.parameters].map(([name, values]) => [name, values[0] ?? null]),
      ),
      ...(space.parameters.has('speculative-algorithm')
        ? { 'speculative-num-steps': null, 'speculative-eagle-topk': null }
        : {}),
    };
    const values = legal.flatMap((assignment) => truth(assignment) ?? []);
    if (truth(baseline) === undefined || values.length < legal.length / 2) continue;
    return { space, baseline, legal, truth, best: Math.max(...values) };
  }
}

function drawSpace(uniform: () => number): SearchSpace {
  const some = <T>(items: readonly T[], share: number) => items.filter(() => uniform() < share);
  const parameters: Pick[] = [];
  const speculation = uniform() < 0.75;
  if (speculation) {
    parameters.push(
      ['speculative-algorithm', [null, 'NEXTN']],
      ['speculative-num-steps', uniform() < 0.5 ? [1, 2, 3] : [1, 2, 3, 4]],
      ['speculative-eagle-topk', uniform() < 0.5 ? [1] : [1, 2]],
    );
  }
  if (uniform() < 0.6) parameters.push(['max-running-requests', [32, 64, 128]]);
  if (uniform() < 0.5) parameters.push(['chunked-prefill-size', [2048, 4096, 8192]]);
  parameters.push(...some(DRAWN, 0.4));
  return { parameters: new Map(parameters), constraints: speculation ? [OFF] : [] };
}

function drawTruth(
  space: SearchSpace,
  uniform: () => number,
  normal: () => number,
): Landscape['truth'] {
  const names = [...space.parameters.keys()];
  const mains = new Map<string, number>();
  for (const [name, values] of DRAWN) {
    const spread = 0.005 + 0.025 * uniform();
    for (const value of values) mains.set(`${name}=${String(value)}`, spread * normal());
  }
  const pairSpread = 0.005 + 0.01 * uniform();
  const pairs = new Map<string, number>();
  for (const [i, a] of names.entries()) {
    for (const b of names.slice(i + 1)) {
      if (uniform() > 0.25) continue;
      for (const x of valuesOf(space, a)) {
        for (const y of valuesOf(space, b)) pairs.set(pairKey(a, x, b, y), pairSpread * normal());
      }
    }
  }
  const dead = new Set<string>();
  for (let region = 0; region < 2; region += 1) {
    if (uniform() < 0.4) continue;
    const [a, b] = [
      names[Math.floor(uniform() * names.length)],
      names[Math.floor(uniform() * names.length)],
    ];
    if (a === undefined || b === undefined || a === b) continue;
    dead.add(pairKey(a, lastOf(space, a), b, lastOf(space, b)));
    dead.add(pairKey(b, lastOf(space, b), a, lastOf(space, a)));
  }
  const profile = drawProfile(uniform);
  const input = 500 + Math.floor(3500 * uniform());
  const output = 200 + Math.floor(800 * uniform());
  const known = new Map<string, number | undefined>();
  const compute = (assignment: Assignment): number | undefined => {
    let log = modelLog(assignment, profile, input, output);
    for (const [i, a] of names.entries()) {
      log += mains.get(`${a}=${String(assignment[a])}`) ?? 0;
      for (const b of names.slice(i + 1)) {
        const key = pairKey(a, assignment[a] ?? null, b, assignment[b] ?? null);
        if (dead.has(key)) return undefined;
        log += pairs.get(key) ?? 0;
      }
    }
    return log;
  };
  return (assignment) => {
    const key = assignmentKey(assignment);
    if (!known.has(key)) known.set(key, compute(assignment));
    return known.get(key);
  };
}

function valuesOf(space: SearchSpace, name: string): readonly FlagValue[] {
  return [...(space.parameters.get(name) ?? []), null];
}

function lastOf(space: SearchSpace, name: string): FlagValue {
  return space.parameters.get(name)?.at(-1) ?? null;
}

function pairKey(a: string, x: FlagValue, b: string, y: FlagValue): string {
  return `${a}=${String(x)},${b}=${String(y)}`;
}

function drawProfile(uniform: () => number): ReadonlyMap<number, number> {
  const raw = [1, 4, 16, 32, 64].map((concurrency) => [concurrency, uniform() ** 2] as const);
  const total = raw.reduce((sum, [, weight]) => sum + weight, 0);
  return new Map(raw.map(([concurrency, weight]) => [concurrency, weight / total]));
}

/** `sum w_c ln T_c` of the simulator's closed form. */
function modelLog(
  assignment: Assignment,
  profile: ReadonlyMap<number, number>,
  inputTokens: number,
  outputTokens: number,
): number {
  const steps = Number(assignment['speculative-num-steps'] ?? 0);
  const topk = Number(assignment['speculative-eagle-topk'] ?? 1);
  const speculates = assignment['speculative-algorithm'] === 'NEXTN';
  const asked = Number(assignment['max-running-requests'] ?? 64);
  const chunk = Number(assignment['chunked-prefill-size'] ?? 8192);
  const settings: PerformanceSettings = {
    speculation: speculates
      ? { steps, topk, draftTokens: topk === 1 ? steps + 1 : steps * topk + 1 }
      : undefined,
    runningLimit: speculates ? Math.min(asked, 48) : asked,
    requestedLimit: asked,
    graphMaxBatch: 128,
    decodeFactor: 1,
    prefillFactor: 1 + 120 / chunk,
    chunkedPrefillTokens: chunk,
    maxPrefillTokens: 16_384,
    maxTotalTokens: 1_000_000,
    mixedChunk: false,
  };
  let log = 0;
  for (const [concurrency, weight] of profile) {
    const speed = expectedTokensPerSecond(settings, concurrency, 'code', {
      inputTokens,
      outputTokens,
      cachedFraction: 0,
    });
    log += weight * Math.log(speed);
  }
  return log;
}
