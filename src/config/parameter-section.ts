import type { FlagValue } from '../search-space/assignment.ts';
import {
  isEnvironmentParameter,
  normaliseParameterName,
  parameterNameProblem,
} from '../search-space/parameter-names.ts';
import type { Parameters } from '../search-space/space.ts';
import { sameValue } from '../search-space/values.ts';
import { isSecretFlag, isSecretName } from '../sglang/secret-names.ts';
import { type KeyPath, type Problems, show } from './problems.ts';

/**
 * The parameters of a study, names normalised, in file order; mistakes go to `problems`: names
 * that are none or stand there twice in different spellings, values listed twice, secrets, and
 * values that no command line can hold.
 */
export function readParameters(
  section: Readonly<Record<string, readonly FlagValue[]>>,
  problems: Problems,
): Parameters {
  const parameters = new Map<string, readonly FlagValue[]>();
  const spelling = new Map<string, string>();
  if (Object.keys(section).length === 0) {
    problems.add(['parameters'], 'names no parameter: there is nothing to search');
  }
  for (const [written, values] of Object.entries(section)) {
    const path = ['parameters', written];
    const name = normaliseParameterName(written);
    const nameProblem = parameterNameProblem(name) ?? secretProblem(name);
    if (nameProblem !== undefined)
      problems.add(path, `${show(written)} ${nameProblem}`, { at: 'key' });
    const earlier = spelling.get(name);
    if (earlier !== undefined) {
      problems.add(path, `is the same parameter as ${show(earlier)} above`, { at: 'key' });
    }
    checkValues(path, name, values, problems);
    spelling.set(name, written);
    parameters.set(name, values);
  }
  return parameters;
}

function secretProblem(name: string): string | undefined {
  const secret = isEnvironmentParameter(name)
    ? isSecretName(name.slice('env.'.length))
    : isSecretFlag(name);
  return secret ? 'takes a key: it may not stand in a study file' : undefined;
}

function checkValues(
  path: KeyPath,
  name: string,
  values: readonly FlagValue[],
  problems: Problems,
): void {
  if (values.length === 0) problems.add(path, 'needs at least one value');
  values.forEach((value, index) => {
    const problem = valueProblem(name, value);
    if (problem !== undefined) problems.add([...path, index], ...problem);
    const twin = values.slice(0, index).find((earlier) => sameValue(earlier, value));
    if (twin !== undefined) {
      problems.add([...path, index], `${show(value)} starts the same server as ${show(twin)}`);
    }
  });
}

function valueProblem(
  name: string,
  value: FlagValue,
): [message: string, options?: { hint: string }] | undefined {
  const environment = isEnvironmentParameter(name);
  if (environment && typeof value === 'boolean') {
    return [
      `an environment variable holds text, got ${String(value)}`,
      { hint: `write "${String(value)}" or "${value ? '1' : '0'}" in quotes` },
    ];
  }
  if (value !== null && typeof value === 'object') {
    if (environment) return ['an environment variable has one value, got a list'];
    if (value.length === 0) return ['an empty list: ~ is an absent flag'];
    return value.map((one) => scalarProblem(one, environment)).find((one) => one !== undefined);
  }
  return value === null || typeof value === 'boolean'
    ? undefined
    : scalarProblem(value, environment);
}

function scalarProblem(
  value: string | number,
  mayBeEmpty: boolean,
): [message: string, options?: { hint: string }] | undefined {
  if (typeof value === 'number') {
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      return ['has more digits than a number keeps', { hint: 'write it in quotes' }];
    }
    return undefined;
  }
  if (value === '' && !mayBeEmpty) return ['empty text', { hint: '~ is an absent flag' }];
  // A service file holds one line a setting, and a command line no NUL.
  return /[\n\r\0]/.test(value) ? ['holds a line break or a NUL character'] : undefined;
}
