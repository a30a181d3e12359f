import maxBy from 'lodash/maxBy.js';
import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { type Assignment, assignmentKey } from '../search-space/assignment.ts';
import { readGpus } from '../server/gpu-gate.ts';
import type { SystemdAccess } from '../server/systemd-access.ts';
import { argProblemText } from '../sglang/arg-problem-text.ts';
import { lastOccurrence, parseLaunchArgs } from '../sglang/launch-args.ts';
import type { LaunchContext } from '../sglang/launch-context.ts';
import { redactText } from '../sglang/redact.ts';
import type { StoredTrial, StudyStore } from '../storage/study-store.ts';
import { withoutCacheVotes } from './cache-judge.ts';
import { isReportedEquivalent, releasedNumbers, sameAsText } from './equivalents.ts';
import { checkParameters, createJudge } from './judge.ts';
import { parameterWarnings } from './parameter-warnings.ts';
import { type Judge, planSweep, type SweepPlan } from './plan.ts';
import { type Production, productionAssignment, readProduction } from './production.ts';

export interface PreparedSweep {
  readonly study: Study;
  readonly production: Production;
  readonly plan: SweepPlan;
  /** What is known of an assignment of this study on this target. */
  readonly judge: Judge;
}

/**
 * Reads production and its flags, checks the study against them, and plans the sweep. Runs nothing
 * but the server program's `--help`.
 *
 * @throws UserError for every mistake that can be known before a launch.
 */
export async function prepareSweep(
  study: Study,
  host: Host,
  unit?: SystemdAccess,
): Promise<PreparedSweep> {
  const production = await readProduction(study, host, unit);
  checkParameters(study, production);
  const context = await launchContext(production, host);
  const own = productionAssignment(production, study.parameters.keys());
  const judge = withoutCacheVotes(createJudge(production, context), own, study.workload);
  const plan = planSweep(study, own, judge, context);
  if (study.parameters.size > 0 && plan.space.feasible === 0) {
    throw new UserError(`${study.path}: no combination keeps the constraints`, {
      hint: `most are rejected by: ${mostRejecting(plan)}`,
    });
  }
  refuseHopeless(study, plan);
  const warnings = [
    ...productionProblems(production),
    ...parameterWarnings(study, production),
    ...plan.warnings,
  ];
  return { study, production, judge, plan: { ...plan, warnings } };
}

/** A space of which SGLang would start nothing but production is a mistake of the study file (B5). */
function refuseHopeless(
  { path }: Study,
  { trials, equivalent, skipped, unlisted }: SweepPlan,
): void {
  const [worst] = skipped.filter(({ by }) => by !== 'constraint');
  if (trials.length > 1 || equivalent.length > 0 || unlisted > 0 || worst === undefined) return;
  throw new UserError(`${path}: no combination would start: ${worst.reason}`, {
    hint: 'nightsweep flags STUDY --flag NAME shows the rules of a flag',
  });
}

function mostRejecting({ space }: SweepPlan): string {
  return maxBy(space.rejected, ({ count }) => count)?.constraint.text ?? 'no constraint';
}

/**
 * What SGLang's own parser would say about production's command. Warnings only: production runs
 * with it, so an old name that help hides is no reason to refuse a sweep.
 */
function productionProblems({ argv, help, version }: Production): readonly string[] {
  const { problems } = parseLaunchArgs(argv, help, { version: version ?? undefined });
  return problems.map((problem) => `production: ${redactText(argProblemText(problem))}`);
}

/** What is known of the machine and the model before anything runs. */
async function launchContext(production: Production, host: Host): Promise<LaunchContext> {
  const args = parseLaunchArgs(production.argv, production.help, {
    version: production.version ?? undefined,
  });
  const device = lastOccurrence(args, 'device')?.values[0];
  const modelPath = lastOccurrence(args, 'model-path')?.values[0];
  const architecture = modelPath === undefined ? undefined : await readModel(modelPath, host);
  const gpus = (await readGpus(host))?.gpus ?? [];
  const [gpu] = gpus;
  return {
    ...(production.version === null ? {} : { version: production.version }),
    ...(device === 'cuda' || device === 'cpu' ? { device } : {}),
    ...(gpu === undefined ? {} : { gpuName: gpu.name, gpuCount: gpus.length }),
    ...(gpu?.computeCapability === undefined ? {} : { gpuCapability: gpu.computeCapability }),
    ...(architecture === undefined ? {} : { modelArchitecture: architecture }),
  };
}

/** First entry of `architectures`; undefined for a model that is not a folder on the target. */
async function readModel(modelPath: string, host: Host): Promise<string | undefined> {
  if (!modelPath.startsWith('/')) return undefined;
  const text = await host.readText(`${modelPath}/config.json`);
  const names = /"architectures"\s*:\s*\[\s*"([^"]+)"/.exec(text ?? '');
  return names?.[1];
}

/**
 * Writes the plan into the store: new assignments are added, known ones kept. Returns the trials
 * that this plan launches, in its order.
 */
export function storePlan(
  store: StudyStore,
  studyId: number,
  plan: SweepPlan,
): readonly StoredTrial[] {
  const reported = byKey(store.trials(studyId).filter(isReportedEquivalent));
  store.planTrials(
    studyId,
    plan.trials.map(({ assignment, isBaseline }) => {
      const reason = reported.get(assignmentKey(assignment))?.reason ?? undefined;
      if (reason !== undefined) return skipped(assignment, 'equivalent', reason);
      return { assignment, isBaseline, state: 'planned' as const };
    }),
  );
  const before = store.trials(studyId);
  const released = releasedNumbers(store, studyId);
  const own = new Set(
    before.filter(({ number }) => released.has(number)).map((one) => assignmentKey(one.assignment)),
  );
  const launched = byKey(before);
  const numberOf = (assignment: Assignment | undefined): number | undefined =>
    assignment === undefined ? undefined : launched.get(assignmentKey(assignment))?.number;
  store.planTrials(studyId, [
    ...plan.skipped.flatMap(({ rule, reason, assignments }) =>
      assignments.map((assignment) => skipped(assignment, rule, reason)),
    ),
    ...plan.equivalent
      .filter(({ assignment }) => !own.has(assignmentKey(assignment)))
      .map(({ assignment, sameAs }) =>
        skipped(assignment, 'equivalent', sameAsText(numberOf(plan.trials[sameAs]?.assignment))),
      ),
  ]);
  const stored = byKey(store.trials(studyId));
  return plan.trials.flatMap(({ assignment }) => stored.get(assignmentKey(assignment)) ?? []);
}

function skipped(assignment: Assignment, cause: string, reason: string) {
  return { assignment, isBaseline: false, state: 'skipped' as const, cause, reason };
}

function byKey(trials: readonly StoredTrial[]): ReadonlyMap<string, StoredTrial> {
  return new Map(trials.map((trial) => [assignmentKey(trial.assignment), trial]));
}
