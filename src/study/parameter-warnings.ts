import type { Study } from '../config/study.ts';
import { ENV_PREFIX } from '../search-space/assignment.ts';
import { lookupFlag } from '../sglang/flag-names.ts';
import { RENAMED_FLAGS } from '../sglang/renamed-flags.ts';
import type { Production } from './production.ts';

/**
 * Parameters that go by a name which the version still accepts but means to drop: accepted, with
 * the name to write instead.
 */
export function parameterWarnings(
  { path, parameters, parameterPositions }: Study,
  { help, version }: Pick<Production, 'help' | 'version'>,
): readonly string[] {
  return [...parameters.keys()].flatMap((name) => {
    if (name.startsWith(ENV_PREFIX)) return [];
    const found = lookupFlag(name, help, version ?? undefined);
    const line = parameterPositions.get(name)?.line;
    const place = line === undefined ? path : `${path}:${String(line)}`;
    if (found.kind === 'hidden') {
      return [`${place}: ${name} is an old name that help does not show: write ${found.flag.name}`];
    }
    if (found.kind !== 'known') return [];
    const isOld = found.flag.name !== name && RENAMED_FLAGS.some(({ old }) => old === name);
    if (isOld) return [`${place}: ${name} is an old name: write ${found.flag.name}`];
    return found.flag.deprecated === true ? [`${place}: help calls ${name} deprecated`] : [];
  });
}
