import { formatPath, type KeyPath, type StudyWarning } from './problems.ts';
import type { StudyDocument } from './study-document.ts';

/** Words that were booleans in YAML 1.1 and are text in 1.2. */
const LOOKS_BOOLEAN = /^(yes|no|on|off|y|n)$/i;

/** Values of parameters and constraints that YAML reads otherwise than their writer may think. */
export function findWarnings(document: StudyDocument): readonly StudyWarning[] {
  return ['parameters', 'constraints'].flatMap((section) =>
    [...scalars([section], document.values[section])].flatMap(([path, value]) =>
      typeof value === 'string' && LOOKS_BOOLEAN.test(value) && document.isPlainText(path)
        ? [
            {
              position: document.locate(path, 'value'),
              where: formatPath(path),
              message: `${value} is the text "${value}" here, not true or false`,
              hint: `write true, false, or "${value}" in quotes`,
            },
          ]
        : [],
    ),
  );
}

function* scalars(path: KeyPath, value: unknown): Generator<[KeyPath, unknown]> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* scalars([...path, index], item);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) yield* scalars([...path, key], item);
  } else {
    yield [path, value];
  }
}
