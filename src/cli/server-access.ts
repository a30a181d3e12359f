import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import type { ServerAccess } from '../load/server-probe.ts';
import { lastOccurrence, parseLaunchArgs } from '../sglang/launch-args.ts';
import type { Production } from '../study/production.ts';
import type { CliContext } from './context.ts';

/**
 * How the server is spoken to: the key in the named variable, else the one that production's own
 * command has.
 *
 * @throws UserError when the study names a variable that is not set.
 */
export function serverAccess(
  study: Study,
  production: Pick<Production, 'argv' | 'help' | 'version'>,
  { environment }: Pick<CliContext, 'environment'>,
): ServerAccess {
  const { baseUrl } = study.target;
  const args = parseLaunchArgs(production.argv, production.help, {
    version: production.version ?? undefined,
  });
  const apiKey = namedKey(study, environment) ?? lastOccurrence(args, 'api-key')?.values[0];
  return { baseUrl, ...(apiKey === undefined ? {} : { apiKey }) };
}

/** The key in the variable that the study names; undefined when it names none. */
export function namedKey(
  { path, target: { apiKeyEnv } }: Pick<Study, 'path' | 'target'>,
  environment: CliContext['environment'],
): string | undefined {
  if (apiKeyEnv === undefined) return undefined;
  const key = environment[apiKeyEnv];
  if (key !== undefined && key !== '') return key;
  throw new UserError(`${path}: target.api_key_env names ${apiKeyEnv}, which is not set`, {
    hint: `export ${apiKeyEnv}=... where nightsweep is started`,
  });
}
