import { ENV_PREFIX } from './assignment.ts';

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FLAG_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/**
 * A parameter's one spelling: `--max_running_requests`, `max_running_requests` and
 * `max-running-requests` are the same flag. The name behind `env.` is kept letter by letter.
 */
export function normaliseParameterName(written: string): string {
  const name = written.trim();
  if (name.startsWith(ENV_PREFIX)) return name;
  return name.replace(/^--?/, '').replaceAll('_', '-').toLowerCase();
}

/** What is wrong with a normalised name, as the end of a sentence; undefined when it is fine. */
export function parameterNameProblem(name: string): string | undefined {
  if (name.startsWith(ENV_PREFIX)) {
    return ENV_NAME.test(name.slice(ENV_PREFIX.length))
      ? undefined
      : 'is not the name of an environment variable (env. and then letters, digits, underscores)';
  }
  return FLAG_NAME.test(name) ? undefined : 'is not the name of a flag';
}

/** True for a parameter that is an environment variable instead of a flag. */
export function isEnvironmentParameter(name: string): boolean {
  return name.startsWith(ENV_PREFIX);
}
