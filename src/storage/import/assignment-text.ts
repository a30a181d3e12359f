import { parse } from 'yaml';
import { UserError } from '../../errors.ts';
import type { Assignment, FlagValue } from '../../search-space/assignment.ts';
import {
  normaliseParameterName,
  parameterNameProblem,
} from '../../search-space/parameter-names.ts';

/**
 * Reads an assignment as the command line takes it: `flag=value,flag=value`. Values are written as
 * in a study file: `~` for an absent flag, `[1, 2, 4]` for several values, quotes around a comma.
 * A flag without `=` is present. Empty text is production as it is.
 *
 * @throws UserError naming the part that cannot be read.
 */
export function parseAssignment(text: string): Assignment {
  const assignment: Record<string, FlagValue> = {};
  for (const part of parts(text)) {
    const equals = part.indexOf('=');
    const name = normaliseParameterName((equals < 0 ? part : part.slice(0, equals)).trim());
    const problem = parameterNameProblem(name);
    if (problem !== undefined) {
      throw new UserError(`--assignment: "${part}": ${problem}`, {
        hint: 'write it like speculative-algorithm=NEXTN,speculative-num-steps=1',
      });
    }
    if (Object.hasOwn(assignment, name)) throw new UserError(`--assignment: ${name} comes twice`);
    assignment[name] = equals < 0 ? true : valueOf(part.slice(equals + 1), part);
  }
  return assignment;
}

/** Splits at commas outside quotes and brackets. */
function parts(text: string): readonly string[] {
  const found = text.match(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|[^,])+/g) ?? [];
  return found.map((part) => part.trim()).filter((part) => part !== '');
}

function valueOf(written: string, part: string): FlagValue {
  let value: unknown;
  try {
    value = written.trim().startsWith('{') ? written.trim() : parse(written);
  } catch (error) {
    throw new UserError(`--assignment: the value of "${part}" cannot be read`, { cause: error });
  }
  if (isScalar(value)) return value;
  if (
    Array.isArray(value) &&
    value.every((item) => typeof item === 'string' || typeof item === 'number')
  ) {
    return value;
  }
  throw new UserError(`--assignment: the value of "${part}" is neither a value nor a list`);
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
