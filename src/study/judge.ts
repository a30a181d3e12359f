import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import { type Assignment, ENV_PREFIX } from '../search-space/assignment.ts';
import { applyAssignment } from '../sglang/apply-assignment.ts';
import { parseLaunchArgs } from '../sglang/launch-args.ts';
import type { LaunchContext } from '../sglang/launch-context.ts';
import { launchFlags } from '../sglang/launch-flags.ts';
import { describeRewrites, effectiveKey, predictLaunch } from '../sglang/predict-launch.ts';
import { canonicalName, commandOf } from './launch-builder.ts';
import type { Judge } from './plan.ts';
import type { Production } from './production.ts';

/**
 * Judges assignments by what is known of the target's SGLang version: whether it would start,
 * what it would really run, and which assignments are one and the same server.
 */
export function createJudge(production: Production, context: LaunchContext): Judge {
  const { help } = production;
  const version = production.version ?? undefined;
  return (assignment) => {
    const { argv } = commandOf(production, assignment);
    const flags = {
      ...launchFlags(parseLaunchArgs(argv, help, { version })),
      ...variablesOf(assignment),
    };
    const prediction = predictLaunch(flags, context);
    const key = effectiveKey(flags, context);
    const notes = [
      ...describeRewrites(flags, prediction),
      ...prediction.notes.filter(({ kind }) => kind !== 'rewritten').map(({ reason }) => reason),
    ];
    const predicted = byStudyNames(assignment, prediction.effective, production);
    const judgement = { effectiveKey: key, notes, predicted };
    if (prediction.verdict === 'legal') return judgement;
    const { ruleId = 'unknown rule', reason = 'SGLang refuses it' } = prediction;
    return { ...judgement, illegal: { rule: ruleId, reason } };
  };
}

/** Predicted values of the assignment's parameters, by the names that the study gives them. */
function byStudyNames(
  assignment: Assignment,
  effective: Assignment,
  production: Production,
): Assignment {
  return Object.fromEntries(
    Object.keys(assignment).flatMap((name) => {
      const value = effective[canonicalName(name, production)];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function variablesOf(assignment: Assignment): Assignment {
  return Object.fromEntries(
    Object.entries(assignment).filter(([name]) => name.startsWith(ENV_PREFIX)),
  );
}

/** Flags that decide how the server is reached: a trial with another value measures nothing. */
const NOT_TUNABLE: ReadonlySet<string> = new Set([
  'host',
  'port',
  'api-key',
  'admin-api-key',
  'weight-version',
]);

/**
 * Checks every parameter and value of a study against the target's flags, one by one, so that the
 * message names the parameter and its line.
 *
 * @throws UserError listing every mistake.
 */
export function checkParameters(study: Study, { argv, help, version }: Production): void {
  const mistakes: string[] = [];
  const hints = new Set<string>();
  for (const [name, values] of study.parameters) {
    if (NOT_TUNABLE.has(name)) {
      mistakes.push(
        `${study.path}: ${name} cannot be swept: it is where and by whom the server is reached`,
      );
      continue;
    }
    const at = study.parameterPositions.get(name);
    const place = at === undefined ? study.path : `${study.path}:${at.line}:${at.column}`;
    for (const value of values) {
      try {
        applyAssignment(argv, { [name]: value }, help, { version: version ?? undefined });
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        mistakes.push(`${place}: ${error.message}`);
        if (error.hint !== undefined) hints.add(error.hint);
      }
    }
  }
  if (mistakes.length === 0) return;
  throw new UserError([...new Set(mistakes)].join('\n       '), { hint: [...hints].join(' ') });
}
