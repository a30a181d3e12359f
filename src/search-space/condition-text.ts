import type { FlagValue } from './assignment.ts';
import type { ComparisonOperator, Condition, Conditions, Constraint } from './constraints.ts';
import { nearestName } from './nearest-name.ts';
import { normaliseParameterName } from './parameter-names.ts';
import { formatValue, numericValue } from './values.ts';

const COMPARISON = /^(<=|>=|!=|==|<|>)\s*(.*)$/s;

/** A condition as a study file holds it: a value, `"<= 4"`, or a list that means "any of". */
export type WrittenCondition =
  | string
  | number
  | boolean
  | null
  | readonly (string | number | boolean | null | readonly (string | number)[])[];

export type ParsedCondition =
  | { readonly condition: Condition }
  | { readonly problem: string; readonly nearest?: string | undefined };

/**
 * The condition that a study file writes: `4`, `~`, `[4, 6]` (any of), `">= 4"`,
 * `"<= max-running-requests"` (another parameter of the study), `"!= triton"`.
 * With `anyOperand` what follows an operator is taken as it stands (a version).
 * A problem when an operand is neither a number nor one of `parameters` (normalised names).
 */
export function parseCondition(
  written: WrittenCondition,
  parameters: readonly string[],
  { anyOperand = false }: { readonly anyOperand?: boolean } = {},
): ParsedCondition {
  if (written !== null && typeof written === 'object') {
    if (written.length === 0) return { problem: 'an empty list never holds' };
    return { condition: { kind: 'anyOf', values: written } };
  }
  const match = typeof written === 'string' ? COMPARISON.exec(written.trim()) : null;
  if (match === null) return { condition: { kind: 'equals', value: written } };
  const operator = match[1] as ComparisonOperator;
  const operand = (match[2] ?? '').trim();
  if (anyOperand && operand !== '') {
    return { condition: { kind: 'compare', operator, operand: { value: operand } } };
  }
  return parseComparison(operator, operand, parameters);
}

function parseComparison(
  operator: ComparisonOperator,
  text: string,
  parameters: readonly string[],
): ParsedCondition {
  const comparison = (operand: { value: FlagValue } | { parameter: string }) => ({
    condition: { kind: 'compare', operator, operand } as const,
  });
  if (text === '') return { problem: `nothing follows "${operator}"` };
  const number = numericValue(text);
  if (number !== undefined) return comparison({ value: number });
  const name = normaliseParameterName(text);
  if (parameters.includes(name)) return comparison({ parameter: name });
  if (operator === '==' || operator === '!=') {
    return comparison({ value: text === '~' ? null : text });
  }
  return {
    problem: `"${operator} ${text}": ${text} is neither a number nor a parameter of this study`,
    nearest: nearestName(name, parameters),
  };
}

/** A constraint in one line: `when speculative-eagle-topk = 1 require speculative-num-steps >= 2`. */
export function formatConstraint({
  when,
  require,
  forbid,
}: Pick<Constraint, 'when' | 'require' | 'forbid'>): string {
  return [
    ...(Object.keys(when).length === 0 ? [] : [`when ${formatConditions(when)}`]),
    ...(require === undefined ? [] : [`require ${formatConditions(require)}`]),
    ...(forbid === undefined ? [] : [`forbid ${formatConditions(forbid)}`]),
  ].join(' ');
}

function formatConditions(conditions: Conditions): string {
  return Object.entries(conditions)
    .map(([name, condition]) => `${name} ${formatCondition(condition)}`)
    .join(' and ');
}

function formatCondition(condition: Condition): string {
  switch (condition.kind) {
    case 'equals':
      return `= ${formatValue(condition.value)}`;
    case 'anyOf':
      return `in (${condition.values.map(formatValue).join(', ')})`;
    case 'compare':
      return 'parameter' in condition.operand
        ? `${condition.operator} ${condition.operand.parameter}`
        : `${condition.operator} ${formatValue(condition.operand.value)}`;
  }
}
