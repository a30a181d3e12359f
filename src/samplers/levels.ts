import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { numericValue, valueIdentity } from '../search-space/values.ts';

/** Assignments as level numbers: one small integer per parameter. */
export interface Levels {
  readonly parameters: readonly string[];
  /** Level of each parameter, in the order of `parameters`; a value seen nowhere before is -1. */
  readonly of: (assignment: Assignment) => Int16Array;
  /**
   * `likeness[p][a][b]`: how much two values of a parameter are expected to act alike, 1 for the
   * same value, 0 for unrelated ones; numbers are the more alike the fewer lie between them.
   */
  readonly likeness: readonly (readonly Float64Array[])[];
}

/** Likeness of neighbouring numbers is `exp(-1 / reach)`, 0.37. */
const NUMBER_REACH = 1;

/** Levels of all values that occur in the assignments. */
export function levelsOf(
  parameters: readonly string[],
  valuesOf: (parameter: string) => Iterable<FlagValue>,
): Levels {
  const tables = parameters.map((name) => tableOf(valuesOf(name)));
  return {
    parameters,
    of: (assignment) =>
      Int16Array.from(
        parameters,
        (name, p) => tables[p]?.index.get(valueIdentity(assignment[name] ?? null)) ?? -1,
      ),
    likeness: tables.map(({ values }) => likenessOf(values)),
  };
}

function tableOf(values: Iterable<FlagValue>) {
  const index = new Map<string, number>();
  const distinct: FlagValue[] = [];
  for (const value of values) {
    const identity = valueIdentity(value);
    if (index.has(identity)) continue;
    index.set(identity, distinct.length);
    distinct.push(value);
  }
  return { index, values: distinct };
}

function likenessOf(values: readonly FlagValue[]): readonly Float64Array[] {
  const numbers = values.flatMap((value) => numericValue(value) ?? []).sort((a, b) => a - b);
  const place = (value: FlagValue) => {
    const number = numericValue(value);
    return number === undefined ? undefined : numbers.indexOf(number);
  };
  return values.map((a, i) =>
    Float64Array.from(values, (b, j) => {
      if (i === j) return 1;
      const [x, y] = [place(a), place(b)];
      if (x === undefined || y === undefined) return 0;
      return Math.exp(-Math.abs(x - y) / NUMBER_REACH);
    }),
  );
}
