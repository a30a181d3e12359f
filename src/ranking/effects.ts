import { cholesky, dot, type Matrix, solveLower, solveUpper } from '../metrics/linear-algebra.ts';
import { normalQuantile } from '../metrics/normal.ts';
import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { valueIdentity } from '../search-space/values.ts';
import { ASSUMED_LAUNCH_NOISE_FRACTION } from './power.ts';
import type { Ranking } from './ranking.ts';

/** A change of the score with its interval, as shares: 0.02 is +2 %. */
export interface Effect {
  readonly change: number;
  readonly low: number;
  readonly high: number;
}

/** What a value does beside the baseline's value of the same parameter, all else as in production. */
export interface MainEffect extends Effect {
  readonly parameter: string;
  readonly value: FlagValue;
  /** Trials that have it. */
  readonly trials: number;
}

/** What a value does where another one is set too; `interaction` is how much that differs from alone. */
export interface Interaction {
  readonly parameter: string;
  readonly value: FlagValue;
  readonly withParameter: string;
  readonly withValue: FlagValue;
  readonly alone: Effect;
  readonly together: Effect;
  readonly interaction: Effect;
}

export interface Effects {
  readonly mains: readonly MainEffect[];
  /** Those whose interval excludes zero, strongest first. */
  readonly interactions: readonly Interaction[];
}

/** Prior deviations on the log score: effects of flags are rarely above 20 %, interactions smaller. */
const MAIN_SPREAD = 0.1;
const INTERACTION_SPREAD = 0.03;

/** Larger designs are not fitted: their pairs cannot be told apart by the launches of one study. */
const MOST_COLUMNS = 400;

interface Column {
  readonly parts: readonly (readonly [parameter: string, identity: string, value: FlagValue])[];
}

/**
 * Main effects of every value and interactions of every pair that a study launched.
 *
 * Bayesian linear regression of the log scores on "has this value, unlike the baseline" and "has
 * both values", with normal priors (sd 10 % and 3 %), noise that of a launch or what the model
 * leaves unexplained, whichever is larger; intervals are the posterior's at the ranking's
 * confidence, one by one. Parameters that a study never set apart share what they do together.
 * Empty without a baseline. Relative score only: the other kinds have no common scale of shares.
 */
export function effectsOf({ trials, confidence, notes }: Ranking): Effects {
  const baseline = trials.find(({ isBaseline }) => isBaseline);
  const scored = trials.flatMap(({ assignment, scoreByKind, eligible }) => {
    const score = scoreByKind.relative;
    return score === null || !eligible ? [] : { assignment, log: Math.log(score) };
  });
  if (baseline === undefined || scored.length < 3) return { mains: [], interactions: [] };
  const columns = columnsOf(
    scored.map(({ assignment }) => assignment),
    baseline.assignment,
  );
  if (columns.length === 0 || columns.length > MOST_COLUMNS) return { mains: [], interactions: [] };
  const rows = scored.map(({ assignment }) =>
    Float64Array.from(columns, (column) => Number(has(assignment, column))),
  );
  const logs = scored.map(({ log }) => log);
  const known = notes.find((note) => note.code === 'confirmed')?.noiseFraction;
  const fit = fitted(rows, logs, columns, known ?? ASSUMED_LAUNCH_NOISE_FRACTION);
  const z = normalQuantile(1 - (1 - confidence) / 2);
  const effect = (contrast: ReadonlyMap<number, number>): Effect => {
    const { mean, deviation } = fit(contrast);
    const at = (log: number) => Math.expm1(log);
    return { change: at(mean), low: at(mean - z * deviation), high: at(mean + z * deviation) };
  };
  return {
    mains: columns.flatMap(({ parts }, index) => {
      const [first, second] = parts;
      if (first === undefined || second !== undefined) return [];
      const count = rows.filter((row) => row[index] === 1).length;
      const own = effect(new Map([[index, 1]]));
      return { parameter: first[0], value: first[2], trials: count, ...own };
    }),
    interactions: interactionsOf(columns, effect),
  };
}

/** Columns with at least one trial: values unlike the baseline's, and pairs of them. */
function columnsOf(assignments: readonly Assignment[], baseline: Assignment): readonly Column[] {
  const columns = new Map<string, Column>();
  for (const assignment of assignments) {
    const changed = Object.entries(assignment)
      .map(([name, value]) => [name, valueIdentity(value), value] as const)
      .filter(([name, identity]) => identity !== valueIdentity(baseline[name] ?? null));
    for (const [i, one] of changed.entries()) {
      columns.set(JSON.stringify([one]), { parts: [one] });
      for (const other of changed.slice(i + 1)) {
        const parts = [one, other].sort(([a], [b]) => (a < b ? -1 : 1));
        columns.set(JSON.stringify(parts), { parts });
      }
    }
  }
  return [...columns.values()].sort((a, b) => a.parts.length - b.parts.length);
}

function has(assignment: Assignment, { parts }: Column): boolean {
  return parts.every(([name, identity]) => valueIdentity(assignment[name] ?? null) === identity);
}

/** Mean and deviation of any sum of coefficients. */
function fitted(
  rows: readonly Float64Array[],
  logs: readonly number[],
  columns: readonly Column[],
  noiseFraction: number,
) {
  let noise = noiseFraction;
  let solution = solve(rows, logs, columns, noise);
  // What effects and pairs leave over counts as noise too.
  const rest = rows.map((row, i) => (logs[i] ?? 0) - dot(row, solution.means));
  noise = Math.max(noise, Math.sqrt(rest.reduce((sum, one) => sum + one ** 2, 0) / rest.length));
  solution = solve(rows, logs, columns, noise);
  return (contrast: ReadonlyMap<number, number>) => {
    const sum = Float64Array.from(columns, (_column, i) => contrast.get(i) ?? 0);
    const half = solveLower(solution.lower, sum);
    return { mean: dot(sum, solution.means), deviation: Math.sqrt(dot(half, half)) };
  };
}

function solve(
  rows: readonly Float64Array[],
  logs: readonly number[],
  columns: readonly Column[],
  noise: number,
): { readonly lower: Matrix; readonly means: Float64Array } {
  const precision = columns.map(({ parts }, i) => {
    const line = new Float64Array(columns.length);
    line[i] = 1 / (parts.length === 1 ? MAIN_SPREAD : INTERACTION_SPREAD) ** 2;
    return line;
  });
  const right = new Float64Array(columns.length);
  for (const [r, row] of rows.entries()) {
    for (const [i, line] of precision.entries()) {
      const own = (row[i] ?? 0) / noise ** 2;
      if (own === 0) continue;
      right[i] = (right[i] ?? 0) + own * (logs[r] ?? 0);
      for (let j = 0; j < row.length; j += 1) line[j] = (line[j] ?? 0) + own * (row[j] ?? 0);
    }
  }
  const lower = cholesky(precision);
  if (lower === undefined) throw new Error('a precision with a prior has a Cholesky factor');
  return { lower, means: solveUpper(lower, solveLower(lower, right)) };
}

function interactionsOf(
  columns: readonly Column[],
  effect: (contrast: ReadonlyMap<number, number>) => Effect,
): readonly Interaction[] {
  const mainOf = (name: string, identity: string) =>
    columns.findIndex(
      ({ parts }) => parts.length === 1 && parts[0]?.[0] === name && parts[0][1] === identity,
    );
  return columns
    .flatMap(({ parts: [first, second] }, index): Interaction[] => {
      if (first === undefined || second === undefined) return [];
      const interaction = effect(new Map([[index, 1]]));
      if (interaction.low <= 0 && interaction.high >= 0) return [];
      const main = mainOf(first[0], first[1]);
      return [
        {
          parameter: first[0],
          value: first[2],
          withParameter: second[0],
          withValue: second[2],
          alone: effect(new Map([[main, 1]])),
          together: effect(
            new Map([
              [main, 1],
              [index, 1],
            ]),
          ),
          interaction,
        },
      ];
    })
    .sort((a, b) => Math.abs(b.interaction.change) - Math.abs(a.interaction.change));
}
