/**
 * How many launches a search needs, by simulation: ours beside the full grid, random, and Optuna's
 * TPE and GP samplers (their proposals are made by optuna-proposals.py on the same landscapes).
 *
 *   npx tsx bench/search/search.ts [landscapes] [first seed] [optuna proposals.json]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { forecastOf } from '../../src/samplers/forecast.ts';
import { samplers } from '../../src/samplers/registry.ts';
import type { FinishedTrial } from '../../src/samplers/sampler.ts';
import type { Assignment } from '../../src/search-space/assignment.ts';
import { assignmentKey } from '../../src/search-space/assignment.ts';
import { drawLandscape, type Landscape } from './landscape.ts';
import { normalSource, uniformSource } from './simulated-study.ts';

const LANDSCAPES = Number(process.argv[2] ?? 200);
const FIRST_SEED = Number(process.argv[3] ?? 1);
const NOISE = 0.015;
const FINALISTS = Number(process.env['FINALISTS'] ?? 3);
/** Most launches of our search, as a share of the grid. */
const MOST = Number(process.env['MOST'] ?? 0.5);
const SHARES = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1];

/** True loss against the grid's best of the better of two finalists, after each search launch. */
type Curve = readonly number[];

function lossOf(landscape: Landscape, finalists: readonly Assignment[]): number {
  const truths = [landscape.baseline, ...finalists].flatMap((one) => landscape.truth(one) ?? []);
  return 1 - Math.exp(Math.max(...truths) - landscape.best);
}

/** Runs a way of proposing; finalists are the best by `judge`. */
function run(
  landscape: Landscape,
  seed: number,
  launches: number,
  propose: (finished: readonly FinishedTrial[]) => Assignment | undefined,
  byModel: boolean,
): Curve {
  const normal = normalSource(seed + 77);
  const finished: FinishedTrial[] = [];
  const measure = (assignment: Assignment): void => {
    const truth = landscape.truth(assignment);
    const at = finished.length;
    if (truth === undefined) finished.push({ assignment, state: 'infeasible' });
    else {
      const logScore = truth + NOISE * normal();
      finished.push({ assignment, state: 'completed', launches: [{ at, logScore }] });
    }
  };
  measure(landscape.baseline);
  const curve: number[] = [];
  while (curve.length < launches) {
    const next = propose(finished);
    if (next === undefined) break;
    if (assignmentKey(next) === assignmentKey(landscape.baseline)) {
      finished.push({ assignment: next, state: 'skipped' });
      continue;
    }
    measure(next);
    curve.push(lossOf(landscape, best(landscape, finished, byModel)));
  }
  return curve;
}

function best(
  landscape: Landscape,
  finished: readonly FinishedTrial[],
  byModel: boolean,
): readonly Assignment[] {
  const scored = finished.filter(({ launches = [] }) => launches.length > 0);
  const forecast = byModel ? forecastOf(landscape.space.parameters, finished) : undefined;
  const scoreOf = ({ assignment, launches = [] }: FinishedTrial) =>
    forecast?.predict(assignment).mean ?? launches[0]?.logScore ?? 0;
  return scored
    .map((one) => ({ one, score: scoreOf(one) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, FINALISTS)
    .map(({ one }) => one.assignment);
}

function fromList(list: readonly Assignment[]): () => Assignment | undefined {
  let at = 0;
  return () => list[at++];
}

function shuffled(list: readonly Assignment[], seed: number): readonly Assignment[] {
  const uniform = uniformSource(seed);
  return list
    .map((one) => ({ one, key: uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one);
}

const proposals = process.argv[4];
const optuna =
  proposals === undefined
    ? undefined
    : (JSON.parse(readFileSync(proposals, 'utf8')) as Record<string, Record<string, number[]>>);

const curves = new Map<string, Curve[]>();
const add = (name: string, curve: Curve): void => {
  curves.set(name, [...(curves.get(name) ?? []), curve]);
};
const sizes: number[] = [];
const exported: unknown[] = [];
for (let i = 0; i < LANDSCAPES; i += 1) {
  const seed = FIRST_SEED + i;
  const landscape = drawLandscape(seed);
  const size = landscape.legal.length;
  sizes.push(size);
  if (process.env['EXPORT'] !== undefined) {
    const normal = normalSource(seed + 77);
    exported.push({
      seed,
      parameters: Object.fromEntries(
        [...landscape.space.parameters].map(([name, values]) => [name, values.length]),
      ),
      legal: landscape.legal.map((one) =>
        [...landscape.space.parameters].map(([name, values]) => values.indexOf(one[name] ?? null)),
      ),
      scores: landscape.legal.map((one) => landscape.truth(one) ?? null),
      noise: landscape.legal.map(() => NOISE * normal()),
      baseline: landscape.truth(landscape.baseline),
    });
    continue;
  }
  const half = Math.ceil(size * MOST);
  add(
    'ours',
    run(
      landscape,
      seed,
      half,
      (finished) => samplers.budgeted.next(landscape.space, finished),
      true,
    ),
  );
  add('grid', run(landscape, seed, size, fromList(landscape.legal), false));
  add('random', run(landscape, seed, size, fromList(shuffled(landscape.legal, seed)), false));
  for (const [name, bySeed] of Object.entries(optuna ?? {})) {
    if (bySeed[String(seed)] === undefined) continue;
    const list = (bySeed[String(seed)] ?? []).flatMap((index): Assignment[] => {
      const found = landscape.legal[index];
      return found === undefined ? [] : [found];
    });
    add(name, run(landscape, seed, list.length, fromList(list), false));
  }
}
if (exported.length > 0) {
  writeFileSync(process.env['EXPORT'] ?? '', JSON.stringify(exported));
} else {
  console.log(
    `${LANDSCAPES} landscapes, ${Math.min(...sizes)}-${Math.max(...sizes)} legal assignments, noise ${NOISE * 100} %`,
  );
  console.log(
    `share of landscapes within 1 % of the grid's best, by search launches as a share of the grid`,
  );
  console.log(['            ', ...SHARES.map((share) => `${share * 100} %`.padStart(7))].join(''));
  for (const [name, list] of curves) {
    const row = SHARES.map((share) => {
      const within = list.filter((curve, i) => {
        const launches = Math.max(1, Math.floor(share * (sizes[i] ?? 0)));
        if (curve.length < Math.floor(0.95 * launches)) return false;
        const loss = curve[Math.min(launches, curve.length) - 1];
        return loss !== undefined && loss <= 0.01;
      }).length;
      return ((100 * within) / list.length).toFixed(1).padStart(7);
    });
    console.log([name.padEnd(12), ...row].join(''));
  }
}
