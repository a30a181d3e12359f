import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { profileLine, profileMap } from './profile-text.ts';

/**
 * The text of a study file with another profile. Every other byte stays as it is; comments inside
 * the old profile stay with their concurrency, those of concurrencies that are gone stand first.
 *
 * @param text a study file that parses.
 */
export function withProfile(text: string, profile: ReadonlyMap<number, number>): string {
  const document = parseDocument(text);
  const { contents } = document;
  const pair = isMap(contents)
    ? contents.items.find(({ key }) => isScalar(key) && key.value === 'profile')
    : undefined;
  const value = pair?.value;
  if (!isMap(value)) {
    return `${text.trimEnd()}\n\n${profileLine(profile)}\n`;
  }
  const [from, end] = rangeOf(value);
  const old = text.slice(from, end).trimEnd();
  const to = from + old.length;
  const written = isFlow(value)
    ? flowProfile(old, profile)
    : blockProfile(old, profile, columnOf(text, from));
  return text.slice(0, from) + written + text.slice(to);
}

function rangeOf({ range }: YAMLMap): readonly [number, number] {
  if (!Array.isArray(range)) throw new Error('a parsed YAML node has no range');
  return [range[0], range[1]];
}

function isFlow(map: YAMLMap): boolean {
  return map.flow === true;
}

/** On one line, unless comments need lines of their own. */
function flowProfile(old: string, profile: ReadonlyMap<number, number>): string {
  const comments = old.split('\n').flatMap((line) => /#.*$/.exec(line)?.[0].trim() ?? []);
  if (comments.length === 0) return profileMap(profile);
  const lines = [...profile].map(([concurrency, share]) => `  ${concurrency}: ${share},`);
  return ['{', ...comments.map((comment) => `  ${comment}`), ...lines, '}'].join('\n');
}

function blockProfile(old: string, profile: ReadonlyMap<number, number>, column: number): string {
  const comments = new Map<string, string>();
  const loose: string[] = [];
  for (const line of old.split('\n')) {
    const comment = /#.*$/.exec(line)?.[0].trim();
    if (comment === undefined) continue;
    const key = /^\s*["']?(\d+)["']?\s*:/.exec(line)?.[1];
    if (key !== undefined && profile.has(Number(key))) comments.set(key, ` ${comment}`);
    else loose.push(comment);
  }
  const lines = [...profile].map(
    ([concurrency, share]) => `${concurrency}: ${share}${comments.get(String(concurrency)) ?? ''}`,
  );
  return [...loose, ...lines].join(`\n${' '.repeat(column)}`);
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1);
}
