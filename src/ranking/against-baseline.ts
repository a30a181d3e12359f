import { noiseOf, tieWidth } from './noise.ts';
import type { Profile, ScoreKind } from './score.ts';
import { cellsOf, commonKinds } from './speeds.ts';
import type { CellSample, TrialData } from './trial-data.ts';

/** One-sided 95 %, as only "worse" has a consequence. */
const CONFIDENCE = 0.9;

/** What one further launch says about a configuration beside the study's baseline. */
export interface AgainstBaseline {
  /** Share by which its score differs from the baseline's; negative is worse. */
  readonly changeFraction: number;
  /** Difference below which one launch says nothing, as a share. */
  readonly noiseFraction: number;
  readonly isWorse: boolean;
  /** By concurrency: share by which the throughput differs. */
  readonly perConcurrency: ReadonlyMap<number, number>;
}

/**
 * Compares one launch with the baseline of a study: worse is what lies below it by more than the
 * noise of one launch, which is the study's own, or what noise.ts takes it for where the study
 * repeated nothing (4.7 %).
 *
 * @param samples the launch's measurement at each weighted concurrency.
 * @returns undefined when the study has no baseline, or the launch not all of the profile.
 */
export function againstBaseline(
  study: {
    readonly kind: ScoreKind;
    readonly profile: Profile;
    readonly trials: readonly TrialData[];
  },
  samples: ReadonlyMap<number, CellSample>,
): AgainstBaseline | undefined {
  const { kind, profile, trials } = study;
  const baseline = trials.find(({ isBaseline }) => isBaseline);
  if (baseline === undefined) return undefined;
  const launch: TrialData = {
    trial: -1,
    assignment: {},
    isBaseline: false,
    state: 'completed',
    cells: new Map([...samples].map(([concurrency, sample]) => [concurrency, [sample]])),
  };
  const kinds = commonKinds([baseline, launch]);
  const measured = trials.map((trial) => cellsOf(trial, kinds));
  const [own, reference] = [cellsOf(launch, kinds), cellsOf(baseline, kinds)];
  const noise = noiseOf(kind, profile, measured);
  const [mine, base] = [noise.estimate(own), noise.estimate(reference)];
  if (mine === undefined || base === undefined) return undefined;
  const difference = mine.logScore - base.logScore;
  const width = tieWidth(mine, base, noise.evidence, CONFIDENCE);
  const changes = [...own].flatMap(([concurrency, { outputTokensPerSecond }]) => {
    const before = reference.get(concurrency)?.outputTokensPerSecond;
    return before === undefined ? [] : [[concurrency, outputTokensPerSecond / before - 1] as const];
  });
  return {
    changeFraction: Math.expm1(difference),
    noiseFraction: Math.expm1(width),
    isWorse: difference < -width,
    perConcurrency: new Map(changes),
  };
}
