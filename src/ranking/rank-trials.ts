import { UserError } from '../errors.ts';
import { changedParameters } from './changed-parameters.ts';
import { ineligibilities } from './eligibility.ts';
import { type Estimates, estimatesOf } from './estimates.ts';
import { type Limit, WORST_CONCURRENCY } from './limits.ts';
import { type Placed, placed } from './order.ts';
import { paretoSets } from './pareto.ts';
import { checkProfile, weighted } from './profile.ts';
import { type EstimatesByKind, type Judged, rankedTrial } from './ranked-trial.ts';
import type { RankedTrial, Ranking, RankingNote } from './ranking.ts';
import { type Profile, type ScoreKind, scoreKinds } from './score.ts';
import { cellsOf, commonKinds, type ThroughputKind } from './speeds.ts';
import type { TrialData } from './trial-data.ts';

export interface RankingInput {
  readonly trials: readonly TrialData[];
  readonly profile: Profile;
  readonly scoreKind: ScoreKind;
  readonly limits?: readonly Limit[];
  /** Of intervals and ties; default 0.95. Ties hold simultaneously over all candidates. */
  readonly confidence?: number;
}

/**
 * Ranks the trials of a study by their profile-weighted score (README, "Reading the ranking").
 *
 * Finalists that have confirming launches are judged by those alone, at simultaneous intervals
 * over all finalists (Dunnett); the rest, and studies without such launches, by all they have.
 * There, two trials tie when their difference is inside the t interval at
 * `1 - (1 - confidence) / candidates` (Bonferroni), so that the best of many equal ones does not
 * win by chance.
 *
 * @throws UserError for a profile that does not sum to 1 or names an unmeasured concurrency, and
 *   where the score or a limit needs a baseline that is missing or not measured at the profile.
 */
export function rankTrials(input: RankingInput): Ranking {
  const { trials, scoreKind, limits = [], confidence = 0.95 } = input;
  const measured = new Set(trials.flatMap(({ cells }) => [...cells.keys()]));
  checkProfile(input.profile, measured);
  const profile = weighted(input.profile);
  const baseline = trials.find(({ isBaseline }) => isBaseline);
  requireBaseline(baseline, profile, scoreKind, limits);

  const kinds = commonKinds(trials.filter((trial) => covers(trial, profile)));
  const judged = judge(trials, baseline, kinds, profile, limits, measured);
  const eligible = judged.filter(({ reasons }) => reasons.length === 0);
  const reference = judged.find(({ data }) => data === baseline);
  // A baseline that misses a limit cannot win, but all the same is what gains are gains over.
  const compared = judged.filter((one) => one.reasons.length === 0 || one === reference);
  const estimates = estimatesByKind(profile, compared, confidence);
  const places = Object.fromEntries(
    scoreKinds.map((kind) => [kind, placesOf(eligible, estimates[kind])]),
  ) as Record<ScoreKind, readonly Placed[]>;

  const rows = judged.map((trial) =>
    rankedTrial(trial, { scoreKind, estimates, reference, confidence, places: places[scoreKind] }),
  );
  const winnerByKind = winners(places, baseline);
  return {
    scoreKind,
    profile: input.profile,
    confidence,
    evidence: estimates[scoreKind].evidence,
    trials: rows.sort(byRank),
    winnerByKind,
    kindsDisagree: new Set(Object.values(winnerByKind).filter((w) => w !== null)).size > 1,
    paretoSets: paretoSets(rows, trials, profile),
    notes: notesOf(profile, kinds, judged, baseline, estimates[scoreKind]),
  };
}

function requireBaseline(
  baseline: TrialData | undefined,
  profile: Profile,
  scoreKind: ScoreKind,
  limits: readonly Limit[],
): void {
  const relativeLimit = limits.find(({ metric }) => metric === WORST_CONCURRENCY);
  if (scoreKind !== 'relative' && relativeLimit === undefined) return;
  const what =
    scoreKind === 'relative' ? 'the relative score' : `the limit ${relativeLimit?.text ?? ''}`;
  if (baseline === undefined) {
    throw new UserError(`${what} needs a baseline, and no trial of this study is one`, {
      hint: 'import one table with --baseline, or rank with --score time or --score tokens',
    });
  }
  const missing = [...profile.keys()].filter((c) => !baseline.cells.has(c));
  if (missing.length === 0) return;
  const known = [...baseline.cells.keys()].sort((a, b) => a - b).join(', ');
  throw new UserError(`${what} needs the baseline at ${missing.join(', ')} in flight`, {
    hint: `it is measured at ${known === '' ? 'nothing yet' : known}`,
  });
}

function covers({ cells }: TrialData, profile: Profile): boolean {
  return [...profile.keys()].every((concurrency) => cells.has(concurrency));
}

function judge(
  trials: readonly TrialData[],
  baseline: TrialData | undefined,
  kinds: ReadonlyMap<number, ThroughputKind>,
  profile: Profile,
  limits: readonly Limit[],
  measured: ReadonlySet<number>,
): readonly Judged[] {
  const baselineCells = baseline === undefined ? undefined : cellsOf(baseline, kinds);
  const someAreExact = trials.some(
    (trial) => covers(trial, profile) && [...profile.keys()].every((c) => isExact(trial, c)),
  );
  return trials.map((data) => {
    const cells = cellsOf(data, kinds);
    return {
      data,
      cells,
      reasons: ineligibilities({
        trial: data,
        baseline,
        cells,
        baselineCells,
        profile,
        limits,
        someAreExact,
        measured,
      }),
      changedParameters: changedParameters(data.assignment, baseline?.assignment).length,
    };
  });
}

function isExact({ cells }: TrialData, concurrency: number): boolean {
  return (cells.get(concurrency) ?? []).every(({ tokensFrom }) => tokensFrom === 'server');
}

function estimatesByKind(
  profile: Profile,
  trials: readonly Judged[],
  confidence: number,
): EstimatesByKind {
  const compared = trials.map(({ data, cells }) => {
    return { trial: data.trial, isBaseline: data.isBaseline, cells };
  });
  return {
    relative: estimatesOf('relative', profile, compared, confidence),
    time: estimatesOf('time', profile, compared, confidence),
    tokens: estimatesOf('tokens', profile, compared, confidence),
  };
}

function placesOf(eligible: readonly Judged[], estimates: Estimates): readonly Placed[] {
  const contenders = eligible.flatMap(({ data, cells, changedParameters }) => {
    const { trial, isBaseline } = data;
    const estimate = estimates.of({ trial, isBaseline, cells });
    return estimate === undefined ? [] : { trial, isBaseline, changedParameters, estimate };
  });
  return placed(contenders, estimates.tieWidth);
}

/** Without a baseline there is no relative score and so no relative winner. */
function winners(
  places: Readonly<Record<ScoreKind, readonly Placed[]>>,
  baseline: TrialData | undefined,
): Record<ScoreKind, number | null> {
  return {
    relative: baseline === undefined ? null : (places.relative[0]?.trial ?? null),
    time: places.time[0]?.trial ?? null,
    tokens: places.tokens[0]?.trial ?? null,
  };
}

function byRank(a: RankedTrial, b: RankedTrial): number {
  const [x, y] = [a.rank ?? Number.MAX_SAFE_INTEGER, b.rank ?? Number.MAX_SAFE_INTEGER];
  return x - y || a.trial - b.trial;
}

function notesOf(
  profile: Profile,
  kinds: ReadonlyMap<number, ThroughputKind>,
  trials: readonly Judged[],
  baseline: TrialData | undefined,
  { evidence, confirmation, drift, unknownTieFraction }: Estimates,
): readonly RankingNote[] {
  const wholeRun = [...profile.keys()].filter((c) => kinds.get(c) === 'whole-run');
  const ranked = trials.filter(({ reasons }) => reasons.length === 0);
  const estimated =
    ranked.length > 0 &&
    ranked.every(({ data }) => [...profile.keys()].some((c) => !isExact(data, c)));
  return [
    ...(wholeRun.length > 0 ? [{ code: 'whole-run', concurrencies: wholeRun } as const] : []),
    ...(estimated ? [{ code: 'estimated-tokens' } as const] : []),
    ...(baseline === undefined ? [{ code: 'no-baseline' } as const] : []),
    { code: 'evidence', evidence, unknownTieFraction },
    ...(confirmation === undefined
      ? []
      : [
          {
            code: 'confirmed',
            rounds: confirmation.rounds,
            finalists: confirmation.gains.size,
            noiseFraction: Math.sqrt(confirmation.variance),
            voidRounds: confirmation.voidRounds.length,
          } as const,
        ]),
    ...(drift.isSignificant
      ? [{ code: 'drift', rangeFraction: drift.rangeFraction } as const]
      : []),
  ];
}
