type State = 'beforeKey' | 'key' | 'beforeValue' | 'value' | 'single' | 'double' | 'comment';

const NEWLINE = /[\n\r]/;
const BLANK = /[ \t\n\r]/;

/**
 * Variables of an `EnvironmentFile=`, in file order, as systemd 252 reads it
 * (`parse_env_file_internal`): `NAME=value` lines, `#` and `;` comments, single and double quotes
 * at the start of a value or behind another quoted part, a backslash before a line break takes it
 * away. Nothing is expanded. Lines that are no assignment are skipped.
 */
export function parseEnvironmentFile(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let state: State = 'beforeKey';
  let key = '';
  let value = '';
  const push = (read: string): void => {
    const name = key.trimEnd();
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) found.set(name, read);
    state = 'beforeKey';
    key = '';
    value = '';
  };
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    const escaped = char === '\\' ? (text[i + 1] ?? '') : undefined;
    switch (state) {
      case 'beforeKey':
        if (char === '#' || char === ';') state = 'comment';
        else if (!BLANK.test(char)) {
          state = 'key';
          key = char;
        }
        break;
      case 'key':
        if (NEWLINE.test(char)) state = 'beforeKey';
        else if (char === '=') state = 'beforeValue';
        else key += char;
        break;
      case 'beforeValue':
      case 'value':
        if (NEWLINE.test(char)) push(state === 'value' ? value.trimEnd() : value);
        else if (escaped !== undefined) {
          state = 'value';
          value += NEWLINE.test(escaped) ? '' : escaped;
          i += 1;
        } else if (state === 'beforeValue' && char === "'") state = 'single';
        else if (state === 'beforeValue' && char === '"') state = 'double';
        else if (state === 'value' || !BLANK.test(char)) {
          state = 'value';
          value += char;
        }
        break;
      case 'single':
        if (char === "'") state = 'beforeValue';
        else value += char;
        break;
      case 'double':
        if (char === '"') state = 'beforeValue';
        else if (escaped === undefined) value += char;
        else {
          if ('"\\`$'.includes(escaped)) value += escaped;
          else if (escaped !== '\n') value += `\\${escaped}`;
          i += 1;
        }
        break;
      case 'comment':
        if (escaped !== undefined) i += 1;
        else if (NEWLINE.test(char)) state = 'beforeKey';
        break;
    }
  }
  if (state === 'value') push(value.trimEnd());
  else if (state !== 'beforeKey' && state !== 'key' && state !== 'comment') push(value);
  return found;
}
