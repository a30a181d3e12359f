/**
 * Value of one parameter.
 *
 * `null`: the flag is absent. `true`: a flag without a value is present; `false`: it is absent
 * (SGLang's booleans have no off spelling). A list is a flag with several values, such as
 * `--cuda-graph-bs 1 2 4`.
 */
export type FlagValue = string | number | boolean | null | readonly (string | number)[];

/**
 * One point of the search space: parameter name to value.
 *
 * Names are SGLang's own long flag names without leading dashes (`max-running-requests`), or
 * `env.NAME` for an environment variable. A parameter that is missing is as production has it.
 */
export type Assignment = Readonly<Record<string, FlagValue>>;

/** Prefix of parameters that are environment variables instead of flags. */
export const ENV_PREFIX = 'env.';

/** Identity of an assignment: JSON with sorted keys. Equal assignments have equal keys. */
export function assignmentKey(assignment: Assignment): string {
  const sorted = Object.keys(assignment)
    .sort()
    .map((name) => [name, assignment[name]] as const);
  return JSON.stringify(Object.fromEntries(sorted));
}
