import { UserError } from '../errors.ts';
import { parseEnvironmentFile } from './environment-file.ts';
import { listEntries } from './merge.ts';
import type {
  PlacedEntry,
  ReadServiceOptions,
  ServiceVariable,
  ServiceWarning,
} from './service.ts';
import { expandSpecifiers, type Specifiers } from './specifiers.ts';
import type { UnitText } from './unit-text.ts';
import { splitUnitWords } from './unit-words.ts';

export interface ReadEnvironment {
  readonly environment: Readonly<Record<string, string>>;
  readonly variables: readonly ServiceVariable[];
  readonly unset: readonly string[];
  readonly warnings: readonly ServiceWarning[];
}

/**
 * Environment that a unit sets. Files override `Environment=` wherever they stand, later files
 * earlier ones; `UnsetEnvironment=` takes away at the end.
 *
 * @throws UserError when a file without `-` does not exist: systemd would not start the unit.
 */
export function readEnvironment(
  files: readonly UnitText[],
  specifiers: Specifiers,
  readFile: NonNullable<ReadServiceOptions['readEnvironmentFile']>,
): ReadEnvironment {
  const warnings: ServiceWarning[] = [];
  const variables = [
    ...listEntries(files, 'Environment').flatMap((placed) =>
      unitVariables(files, placed, specifiers, warnings),
    ),
    ...listEntries(files, 'EnvironmentFile').flatMap((placed) =>
      fileVariables(files, placed, specifiers, readFile),
    ),
  ];
  const unset = listEntries(files, 'UnsetEnvironment').flatMap(({ entry }) =>
    splitUnitWords(entry.value).words.map(({ text }) => text),
  );
  const environment = Object.fromEntries(
    variables.map(({ name, value }) => [name, value] as const),
  );
  const kept = Object.entries(environment).filter(
    ([name, value]) => !unset.includes(name) && !unset.includes(`${name}=${value}`),
  );
  return { environment: Object.fromEntries(kept), variables, unset, warnings };
}

function unitVariables(
  files: readonly UnitText[],
  placed: PlacedEntry,
  specifiers: Specifiers,
  warnings: ServiceWarning[],
): ServiceVariable[] {
  const { words, unbalanced } = splitUnitWords(placed.entry.value);
  const place = { path: files[placed.file]?.path ?? '', line: placed.entry.firstLine + 1 };
  if (unbalanced) {
    warnings.push({ code: 'invalid-environment', ...place, text: placed.entry.value });
  }
  return words.flatMap((word): ServiceVariable[] => {
    const { text } = expandSpecifiers(word.text, specifiers);
    const assignment = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text);
    if (assignment?.[1] === undefined) {
      warnings.push({ code: 'invalid-environment', ...place, text });
      return [];
    }
    const [, name, value = ''] = assignment;
    if (/\$\{?[A-Za-z_]/.test(value)) {
      warnings.push({ code: 'literal-variable', ...place, name, value });
    }
    return [{ name, value, from: { kind: 'unit', word, ...placed } }];
  });
}

function fileVariables(
  files: readonly UnitText[],
  { file, entry }: PlacedEntry,
  specifiers: Specifiers,
  readFile: (path: string) => string | undefined,
): ServiceVariable[] {
  const optional = entry.value.startsWith('-');
  const path = expandSpecifiers(entry.value.replace(/^-/, ''), specifiers).text;
  const text = readFile(path);
  if (text === undefined) {
    if (optional) return [];
    const where = `${files[file]?.path ?? ''}:${entry.firstLine + 1}`;
    throw new UserError(
      `${where}: EnvironmentFile=${path} does not exist, so the unit cannot start`,
    );
  }
  return [...parseEnvironmentFile(text)].map(([name, value]) => ({
    name,
    value,
    from: { kind: 'file', path },
  }));
}
