import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  Scalar,
  visit,
} from 'yaml';
import { type KeyPath, type Position, type Problem, studyError } from './problems.ts';

/** A study file is written by hand; more than this is something else. */
const MAX_BYTES = 1024 * 1024;

/** A YAML file as plain values, with the place each came from. */
export interface StudyDocument {
  readonly values: Readonly<Record<string, unknown>>;
  /** Place of a key or value; of the nearest enclosing one that exists where the path does not. */
  locate(path: KeyPath, at: 'key' | 'value'): Position;
  /** True when the value is text without quotes, as `yes` in `x: yes`. */
  isPlainText(path: KeyPath): boolean;
}

/**
 * Reads YAML 1.2. Every syntax error, duplicate key, unknown tag and unresolved alias is a mistake
 * with its place; so are an empty file, one that holds no map, and aliases that multiply.
 */
export function readStudyDocument(text: string, file: string): StudyDocument {
  const start = { line: 1, column: 1 };
  const fail = (message: string, hint?: string) =>
    studyError(file, [{ position: start, where: '', message, hint }]);
  if (text.length > MAX_BYTES) throw fail('is larger than 1 MiB, which no study file is');

  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // 1 and "1" are two keys in YAML and would silently become one here.
    uniqueKeys: (a, b) => keyText(a) !== undefined && keyText(a) === keyText(b),
  });
  const problems = [...document.errors, ...document.warnings].map(
    (error): Problem => ({
      position: positionAt(lines, error.pos[0]),
      where: '',
      message: describeYamlError(error, text),
      hint: undefined,
    }),
  );
  if (problems.length > 0) throw studyError(file, problems);
  const unresolved = unresolvedAliases(document, lines);
  if (unresolved.length > 0) throw studyError(file, unresolved);

  if (document.contents === null || isEmpty(document.contents)) {
    throw fail('is empty', 'start from one of the files in search-spaces/');
  }
  if (!isMap(document.contents)) {
    throw fail(
      'holds no map of "key: value" lines',
      'start from one of the files in search-spaces/',
    );
  }
  return {
    values: toValues(document, fail),
    locate: (path, at) => positionAt(lines, findOffset(document, path, at)),
    isPlainText: (path) => {
      const { node } = find(document, path);
      return isScalar(node) && node.type === Scalar.PLAIN && typeof node.value === 'string';
    },
  };
}

function isEmpty(node: Node): boolean {
  return isScalar(node) && node.value === null;
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function describeYamlError(
  error: Document['errors'][number] | Document['warnings'][number],
  text: string,
): string {
  if (error.code === 'DUPLICATE_KEY') {
    const key = /^[^\s:]+/.exec(text.slice(error.pos[0]))?.[0] ?? '';
    return `the key ${key} stands here for the second time`;
  }
  if (error.code === 'MULTIPLE_DOCS') return 'a second document (---) starts here: keep one a file';
  if (error.message.includes('call stack')) return 'not valid YAML: nested too deeply';
  return `not valid YAML: ${error.message}`;
}

/** Expands aliases; together they may stand for no more than 100 times what is written. */
function toValues(
  document: Document,
  fail: (message: string, hint?: string) => Error,
): Readonly<Record<string, unknown>> {
  try {
    return document.toJS({ maxAliasCount: 100 }) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw fail('its aliases (*name) expand without bound', 'write the values out');
  }
}

/** Aliases of names that nothing above them carries. */
function unresolvedAliases(document: Document, lines: LineCounter): Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return;
      problems.push({
        position: positionAt(lines, alias.range?.[0] ?? 0),
        where: '',
        message: `nothing above is named &${alias.source}`,
        hint: 'quote the value if it is meant to start with an asterisk',
      });
    },
  });
  return problems;
}

interface Found {
  readonly node: unknown;
  readonly key: unknown;
  /** Offset of the innermost thing on the path that exists. */
  readonly offset: number;
}

function find(document: Document, path: KeyPath): Found {
  const { contents } = document;
  let found: Found = { node: contents, key: undefined, offset: offsetOf(contents) ?? 0 };
  for (const step of path) {
    const next = descend(document, found.node, step);
    if (next === undefined) return { ...found, node: undefined, key: undefined };
    found = { ...next, offset: offsetOf(next.node) ?? offsetOf(next.key) ?? found.offset };
  }
  return found;
}

function findOffset(document: Document, path: KeyPath, at: 'key' | 'value'): number {
  const { key, offset } = find(document, path);
  return at === 'key' ? (offsetOf(key) ?? offset) : offset;
}

function descend(document: Document, from: unknown, step: string | number) {
  const node = isAlias(from) ? from.resolve(document) : from;
  if (isSeq(node))
    return typeof step === 'number' ? { node: node.items[step], key: undefined } : undefined;
  if (!isMap(node)) return undefined;
  const pair = node.items.find((item) => keyText(item.key) === String(step));
  return pair === undefined ? undefined : { node: pair.value, key: pair.key };
}

/** A key as `toJS` spells it: numbers and other scalars as text, an empty key as ''. */
function keyText(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  const { value } = key;
  if (value === null) return '';
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
