import {
  formatConstraint,
  parseCondition,
  type WrittenCondition,
} from '../search-space/condition-text.ts';
import type { Condition, Conditions, Constraint } from '../search-space/constraints.ts';
import { nearestName } from '../search-space/nearest-name.ts';
import { normaliseParameterName } from '../search-space/parameter-names.ts';
import { impliedAbsent } from '../search-space/rules.ts';
import type { Parameters, SearchSpace } from '../search-space/space.ts';
import { formatValue, sameValue } from '../search-space/values.ts';
import { FACT_NAMES, VERSION_FACT } from '../sglang/constraint-facts.ts';
import { type KeyPath, type Problems, show } from './problems.ts';

type WrittenConditions = Readonly<Record<string, WrittenCondition>>;

export interface WrittenConstraint {
  readonly when?: WrittenConditions | undefined;
  readonly require?: WrittenConditions | undefined;
  readonly forbid?: WrittenConditions | undefined;
}

/**
 * The constraints of a study; mistakes go to `problems`: a parameter the study does not have, a
 * value the parameter never takes, a constraint that asks for nothing.
 *
 * @param lineOf line of a constraint in the study file, by its index.
 */
export function readConstraints(
  section: readonly WrittenConstraint[],
  parameters: Parameters,
  lineOf: (index: number) => number,
  problems: Problems,
): readonly Constraint[] {
  const constraints = section.map((written, index) => {
    const path = ['constraints', index];
    const read = (key: keyof WrittenConstraint) =>
      readConditions([...path, key], written[key] ?? {}, parameters, problems);
    checkDemands(written, path, problems);
    const parts = {
      when: read('when'),
      ...(written.require !== undefined && { require: read('require') }),
      ...(written.forbid !== undefined && { forbid: read('forbid') }),
    };
    return { text: formatConstraint(parts), line: lineOf(index), ...parts };
  });
  checkValues(section, { parameters, constraints }, problems);
  return constraints;
}

function checkDemands(written: WrittenConstraint, path: KeyPath, problems: Problems): void {
  if (written.require === undefined && written.forbid === undefined) {
    problems.add(path, 'needs require or forbid: on its own, when asks for nothing');
  }
  for (const key of ['require', 'forbid'] as const) {
    const conditions = written[key];
    if (conditions !== undefined && Object.keys(conditions).length === 0) {
      problems.add([...path, key], 'names no parameter');
    }
  }
}

function readConditions(
  path: KeyPath,
  written: WrittenConditions,
  parameters: Parameters,
  problems: Problems,
): Conditions {
  const names = [...parameters.keys()];
  const conditions: Record<string, Condition> = {};
  for (const [key, one] of Object.entries(written)) {
    const at = [...path, key];
    const name = normaliseParameterName(key);
    if (name in conditions) problems.add(at, `${name} stands here twice`, { at: 'key' });
    const isFact = FACT_NAMES.includes(name);
    if (!parameters.has(name) && !isFact) {
      problems.add(at, `no parameter of this study is called ${show(key)}`, {
        at: 'key',
        hint: nearestHint(nearestName(name, [...names, ...FACT_NAMES]), names),
      });
      continue;
    }
    const parsed = parseCondition(one, names, { anyOperand: name === VERSION_FACT });
    if ('problem' in parsed) {
      problems.add(at, parsed.problem, { hint: nearestHint(parsed.nearest, names) });
      continue;
    }
    conditions[name] = parsed.condition;
  }
  return conditions;
}

function nearestHint(nearest: string | undefined, names: readonly string[]): string | undefined {
  return nearest === undefined
    ? `parameters of this study: ${names.join(', ')}`
    : `did you mean "${nearest}"?`;
}

/**
 * Reports values that a parameter never takes: most often a slip (`topk: 3` where the study tries
 * 2 and 4), and such a constraint would silently do nothing.
 */
function checkValues(
  section: readonly WrittenConstraint[],
  space: SearchSpace,
  problems: Problems,
): void {
  const switchedOff = impliedAbsent(space);
  section.forEach((written, index) => {
    for (const key of ['when', 'require', 'forbid'] as const) {
      for (const spelling of Object.keys(written[key] ?? {})) {
        const name = normaliseParameterName(spelling);
        const condition = space.constraints[index]?.[key]?.[name];
        const values = space.parameters.get(name);
        if (condition?.kind !== 'equals' || values === undefined) continue;
        const { value } = condition;
        if (values.some((one) => sameValue(one, value))) continue;
        if (sameValue(value, null) && switchedOff.has(name)) continue;
        problems.add(
          ['constraints', index, key, spelling],
          `${name} is never ${formatValue(value)} in this study`,
          { hint: `it is tried as ${values.map(formatValue).join(', ')}` },
        );
      }
    }
  });
}
