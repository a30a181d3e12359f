import type { Assignment } from '../search-space/assignment.ts';
import type { Estimate } from '../study/estimate.ts';
import type { SweepPlan } from '../study/plan.ts';
import { assignmentText, changesText } from './assignment-text.ts';

/** Trials and equivalents shown one by one in the text; JSON has them all. */
const SHOWN = 40;

/** What a plan says; keys are those of `plan --json`. */
export interface PlanFacts {
  readonly study: string;
  readonly version: string | null;
  readonly budget: string;
  readonly plan: SweepPlan;
  readonly estimate: Estimate;
  readonly warnings: readonly string[];
}

/** The plan as JSON, the shape that scripts rely on. */
export function planJson({ study, version, budget, plan, estimate, warnings }: PlanFacts) {
  return {
    study,
    sglang_version: version,
    launches: estimate.launches,
    hours: estimate.seconds / 3600,
    hours_basis: estimate.basis,
    search: estimate.search,
    search_launches: estimate.searchLaunches,
    confirming_launches_each: estimate.confirmingRounds,
    resolvable_gain_fraction: estimate.resolvableGainFraction,
    launch_noise_fraction: estimate.noiseFraction,
    budget,
    combinations: plan.space.total,
    feasible: plan.space.feasible,
    unlisted: plan.unlisted,
    trials: plan.trials.map(({ assignment, isBaseline, notes }) => ({
      assignment,
      is_baseline: isBaseline,
      notes,
    })),
    skipped: plan.skipped.map(({ rule, reason, by, count, assignments }) => ({
      rule,
      reason,
      by,
      count,
      assignments,
    })),
    equivalent: plan.equivalent.map(({ assignment, sameAs }) => ({
      assignment,
      same_as: sameAs,
    })),
    warnings,
  };
}

/** The plan for a terminal: what is launched, how long it takes, what is skipped and why. */
export function planReport(facts: PlanFacts): string {
  const { study, version, plan, estimate, budget, warnings } = facts;
  const { space, trials, equivalent } = plan;
  const baseline = trials[0]?.assignment;
  return [
    [
      `study ${study}${version === null ? '' : `, SGLang ${version}`}`,
      `${String(space.total)} combinations, ${String(space.feasible)} keep the constraints`,
      `${String(estimate.launches)} launches, about ${duration(estimate.seconds)} (${estimate.basis}); budget: ${budget}`,
      searchText(estimate, trials.length, plan.unlisted),
      powerText(estimate),
    ],
    ['launched:', ...cut(trials.map(trialLine(baseline)))],
    skippedLines(plan),
    equivalent.length === 0
      ? []
      : [
          'the same server under another name, not launched:',
          ...cut(
            equivalent.map(
              ({ assignment, sameAs }) =>
                `  ${changesText(assignment, baseline)}: same as ${String(sameAs)}`,
            ),
          ),
        ],
    plan.unlisted === 0
      ? []
      : [
          `${String(plan.unlisted)} more combinations are not listed: too many to launch or to list, so the trials are production's neighbours and a random sample of the space`,
        ],
    warnings.map((warning) => `warning: ${warning}`),
  ]
    .filter((section) => section.length > 0)
    .map((section) => section.join('\n'))
    .join('\n\n');
}

function trialLine(baseline: Assignment | undefined) {
  return (trial: SweepPlan['trials'][number], index: number): string => {
    const name = trial.isBaseline
      ? `baseline, production as it is: ${assignmentText(trial.assignment)}`
      : changesText(trial.assignment, baseline);
    const notes = trial.notes.map((note) => `\n       ${note}`).join('');
    return `${String(index).padStart(4)} ${name}${notes}`;
  };
}

function skippedLines({ skipped }: SweepPlan): readonly string[] {
  if (skipped.length === 0) return [];
  const lines = skipped.map(
    ({ count, rule, reason }) => `${String(count).padStart(6)}  ${rule}\n        ${reason}`,
  );
  return ['skipped:', ...lines];
}

function cut(lines: readonly string[]): readonly string[] {
  const more = lines.length - SHOWN;
  return more <= 0 ? lines : [...lines.slice(0, SHOWN), `  ... and ${String(more)} more (--json)`];
}

function duration(seconds: number): string {
  if (seconds < 90) return `${seconds.toFixed(0)} s`;
  return seconds < 5400 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Which search is used, and why. */
function searchText(
  { search, searchLaunches }: Estimate,
  trials: number,
  unlisted: number,
): string {
  if (search === 'all') {
    const which = unlisted === 0 ? 'every combination' : 'every combination of the sample';
    return `search: ${which} once (grid), as the budget holds them all`;
  }
  const from =
    unlisted === 0
      ? `${String(trials)} trials`
      : `${String(trials)} trials sampled from ${String(trials + unlisted)} combinations`;
  return `search: the most promising ${String(searchLaunches)} launches for ${from} (budgeted), chosen by what was learnt so far, as the budget does not hold them all`;
}

/** Which difference the sweep can find. */
function powerText(estimate: Estimate): string {
  const { confirmingRounds, resolvableGainFraction, noiseFraction } = estimate;
  const noise = `launches differing by ${(noiseFraction * 100).toFixed(1)} %`;
  if (resolvableGainFraction === null) {
    return confirmingRounds === 0
      ? 'confirmation: none, so that a gain is told from what launches commonly differ by only'
      : 'confirmation: one launch of each finalist and the baseline, which tells a large gain from noise only';
  }
  return `confirmation: up to ${String(confirmingRounds)} launches of each finalist and the baseline; with ${noise} a true gain of ${(resolvableGainFraction * 100).toFixed(1)} % is found in 9 of 10 sweeps`;
}
