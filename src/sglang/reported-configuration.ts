import { createHash } from 'node:crypto';
import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { ENV_PREFIX } from '../search-space/assignment.ts';
import { formatValue, valueIdentity } from '../search-space/values.ts';
import type { EffectiveValue } from './effective-configuration.ts';
import { sameSetting } from './same-setting.ts';
import { objectOf, resolvedValue } from './server-info.ts';

/**
 * What differs between two starts of one server: random numbers, the proof of identity, what was
 * typed, and what memory happened to leave. Limits that were swept are part of the key anyway.
 */
const OF_ONE_START: ReadonlySet<string> = new Set([
  'internal_states',
  'kv_events',
  'launch_command',
  'max_req_input_len',
  'max_total_num_tokens',
  'nccl_port',
  'random_seed',
  'status',
  'weight_version',
]);

/**
 * Identity of what a server says it runs: equal for two launches that report the same
 * configuration, whatever was asked of them. Null when the server does not report one.
 *
 * Swept parameters count with the value in force (one that the server ignores counts as absent),
 * all others as reported. Whatever a later version reports beside that and differs from start to
 * start makes keys differ: then two servers are not called the same, which is the safe mistake.
 */
export function reportedKey(
  serverInfo: unknown,
  values: Readonly<Record<string, EffectiveValue>>,
  ignored: readonly string[],
): string | null {
  const info = objectOf(serverInfo);
  if (info['model_path'] === undefined) return null;
  const swept = Object.entries(values).map(
    ([name, value]) => [name, inForce(name, value, ignored)] as const,
  );
  const own = new Set(swept.map(([name]) => name.replaceAll('-', '_')));
  const others = Object.entries(info).filter(
    ([name]) => !OF_ONE_START.has(name) && !name.startsWith('_') && !own.has(name),
  );
  const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) =>
    a < b ? -1 : 1;
  const text = JSON.stringify([[...swept].sort(byName), [...others].sort(byName)]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

function inForce(name: string, { asked, effective }: EffectiveValue, ignored: readonly string[]) {
  const isIgnored = ignored.includes(name);
  // What a variable that nothing reads is set to makes no difference.
  if (isIgnored && (effective === undefined || name.startsWith(ENV_PREFIX))) {
    return valueIdentity(null);
  }
  return valueIdentity(effective ?? asked);
}

/** A flag that the server resolved otherwise than was predicted. */
export interface Misprediction {
  readonly flag: string;
  readonly predicted: FlagValue;
  readonly reported: FlagValue;
}

/**
 * The parameters of an assignment whose predicted value (by the study's own names) is not what the server says it made of
 * them. A value that either side does not know contradicts nothing.
 */
export function mispredictions(
  assignment: Assignment,
  predicted: Assignment,
  serverInfo: unknown,
  canonicalName: (parameter: string) => string = (parameter) => parameter,
): readonly Misprediction[] {
  const info = objectOf(serverInfo);
  return Object.keys(assignment).flatMap((parameter): Misprediction[] => {
    const flag = canonicalName(parameter);
    const expected = predicted[parameter];
    const reported = resolvedValue(flag, info);
    if (expected === undefined || reported === undefined) return [];
    if (sameSetting(flag, expected, reported)) return [];
    return [{ flag: parameter, predicted: expected, reported }];
  });
}

/** `page-size 1 (predicted 64)`, one for each. */
export function mispredictionText(found: readonly Misprediction[]): string {
  return found
    .map(
      ({ flag, predicted, reported }) =>
        `${flag} ${formatValue(reported)} (predicted ${formatValue(predicted)})`,
    )
    .join(', ');
}
