import { z } from 'zod';
import { nearestName } from '../search-space/nearest-name.ts';
import { type KeyPath, type Problems, show, suggest } from './problems.ts';
import { type StudyFile, studySchema } from './study-schema.ts';

/** Keys that are planned; saying so beats "unknown key". */
const NOT_YET: Readonly<Record<string, string>> = {
  rules: 'rules of your own are not available yet: write them as constraints',
  'measure.script': 'measuring with your own script is not available yet',
  'measure.run': 'measuring with your own command is not available yet',
};

const EXPECTED: Readonly<Record<string, string>> = {
  object: 'a map of "key: value" lines',
  record: 'a map of "key: value" lines',
  array: 'a list',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
};

/** Sections that may stand there with nothing below them, as when all their lines are comments. */
const OPTIONAL_SECTIONS: ReadonlySet<string> = new Set(
  Object.entries(studySchema.shape)
    .filter(([, schema]) => schema instanceof z.ZodOptional)
    .map(([name]) => name),
);

/**
 * The sections of a study file that have the right shape; every mistake of the others is added to
 * `problems`. A section with a mistake is absent from the result, so that the meaning of the rest
 * can still be checked.
 */
export function checkShape(
  values: Readonly<Record<string, unknown>>,
  problems: Problems,
): Partial<StudyFile> {
  const sections: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(studySchema.shape)) {
    const value = values[name];
    if (value === null && OPTIONAL_SECTIONS.has(name)) continue;
    const parsed = (schema as z.ZodType).safeParse(value, { reportInput: true });
    if (parsed.success) sections[name] = parsed.data;
    else for (const issue of parsed.error.issues) addIssue(issue, name, problems);
  }
  const known = Object.keys(studySchema.shape);
  for (const name of Object.keys(values)) {
    if (!known.includes(name)) addUnknownKey([], name, problems);
  }
  return sections;
}

function addIssue(issue: z.core.$ZodIssue, section: string, problems: Problems): void {
  const path: KeyPath = [
    section,
    ...issue.path.map((step) => (typeof step === 'symbol' ? '' : step)),
  ];
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) addUnknownKey(path, key, problems);
    return;
  }
  if (issue.input === undefined) {
    problems.add(path, 'is missing', { hint: descriptionOf(path) });
    return;
  }
  problems.add(path, ...describeIssue(issue, path));
}

function describeIssue(
  issue: z.core.$ZodIssue,
  path: KeyPath,
): [message: string, options?: { hint: string | undefined }] {
  const got = show(issue.input);
  switch (issue.code) {
    case 'invalid_type':
      return [
        `expected ${EXPECTED[issue.expected] ?? issue.expected}, got ${got}`,
        { hint: hintForType(issue.expected, issue.input, path) },
      ];
    case 'invalid_value': {
      const choices = issue.values.map(String);
      const nearest = nearestName(String(issue.input), choices);
      const hint = nearest === undefined ? undefined : `did you mean "${nearest}"?`;
      return [`expected one of ${choices.join(', ')}, got ${got}`, { hint }];
    }
    default:
      return [`expected ${issue.message}, got ${got}`];
  }
}

function hintForType(expected: string, input: unknown, path: KeyPath): string | undefined {
  const yesNo = typeof input === 'string' && /^(yes|no|on|off)$/i.test(input);
  if (expected === 'boolean' && yesNo) return 'YAML 1.2 knows true and false only';
  if (expected === 'array' && path[0] === 'parameters')
    return `write the values as a list: [${show(input)}]`;
  if (expected === 'array' && typeof input === 'string')
    return 'write a list of words: [python3, -m, ...]';
  return undefined;
}

function addUnknownKey(path: KeyPath, key: string, problems: Problems): void {
  const full = [...path, key];
  const planned = NOT_YET[full.join('.')];
  if (planned !== undefined) {
    problems.add(full, planned, { at: 'key' });
  } else if (/api[-_]?key|token$|secret|password/i.test(key)) {
    problems.add(full, 'a key may not stand in a study file', {
      at: 'key',
      hint: 'name the environment variable that holds it: target.api_key_env',
    });
  } else {
    problems.add(full, 'unknown key', { at: 'key', hint: suggest(key, knownKeys(path)) });
  }
}

/** Keys that the schema allows at a place of the file. */
function knownKeys(path: KeyPath): string[] {
  const schema = schemaAt(path);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function descriptionOf(path: KeyPath): string | undefined {
  return schemaAt(path)?.description;
}

function schemaAt(path: KeyPath): z.ZodType | undefined {
  let schema: unknown = studySchema;
  for (const step of path) {
    schema = unwrap(schema);
    if (schema instanceof z.ZodObject) schema = (schema.shape as Record<string, unknown>)[step];
    else if (schema instanceof z.ZodArray) schema = schema.element;
    else if (schema instanceof z.ZodRecord) schema = schema.valueType;
    else return undefined;
  }
  return unwrap(schema) as z.ZodType | undefined;
}

function unwrap(schema: unknown): unknown {
  // `describe` after `optional` hangs on the wrapper: keep a wrapper's description with it.
  return schema instanceof z.ZodOptional ? schema.unwrap() : schema;
}
