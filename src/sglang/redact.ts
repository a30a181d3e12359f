import { isSecretFlag, isSecretName } from './secret-names.ts';

/** What stands in place of a secret. */
export const REDACTED = '***';

/** Values that say that no secret is set; showing them is useful. */
const unsetValues = new Set(['', 'none', 'null', 'undefined', 'true', 'false', REDACTED]);

/**
 * A name before `=` or `:`, quoted as JSON, as a Python literal, escaped, or bare. Names are bounded:
 * else a long line of dots and letters costs the square of its length.
 */
const namedValue =
  /(?<![\w])(?<!#[\w-]{0,99})(?<name>[A-Za-z_][\w.-]{0,99})(?<sep>\\*["']?\s*[=:]\s*)(?<value>\\*"(?:[^"\\]|\\[^"])*\\*"|'(?:[^'\\]|\\.)*'|[^\s,;)}\]"'&]+)/g;
const flagValue =
  /(?<![\w-])(?<flag>--?[A-Za-z][\w-]*)(?<sep>[ =\t]+)(?<value>"[^"]*"|'[^']*'|(?!-)\S+)/g;
/** The same in a printed argv list: `'--api-key', 'x'`. */
const listedFlagValue =
  /(?<open>["'])(?<flag>--?[A-Za-z][\w-]*)\k<open>(?<sep>\s*,\s*)(?<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/g;
const authorization = /\b(?<scheme>Bearer|Basic)(?<sep>\s+|%20)[\w.~+/=-]{3,}/gi;
/** Without the look behind, a long run of letters costs the square of its length. */
const urlPassword = /(?<![a-z0-9+.-])(?<scheme>[a-z][a-z0-9+.-]*:\/\/)[^\s/@:'"]*:[^\s/@'"]+@/gi;
/** Keys that are known by their own shape: Hugging Face, OpenAI, GitHub, AWS, Slack. */
const wellKnownKeys =
  /\b(?:hf_[A-Za-z0-9]{12,}|sk-[\w-]{12,}|gh[pousr]_[A-Za-z0-9]{16,}|AKIA[A-Z0-9]{12,}|xox[abp]-[\w-]{10,})/g;

function hide(value: string): string {
  const bare = value.replace(/^[\\"']+|[\\"']+$/g, '');
  if (unsetValues.has(bare.toLowerCase())) return value;
  const quotes = /^[\\"']*/.exec(value)?.[0] ?? '';
  const closing = quotes === '' ? '' : (/[\\"']*$/.exec(value)?.[0] ?? '');
  return `${quotes}${REDACTED}${closing}`;
}

function redactPatterns(text: string): string {
  return text
    .replace(urlPassword, `$<scheme>${REDACTED}@`)
    .replace(authorization, `$<scheme>$<sep>${REDACTED}`)
    .replace(listedFlagValue, (all, open: string, flag: string, sep: string, value: string) =>
      isSecretFlag(flag) ? `${open}${flag}${open}${sep}${hide(value)}` : all,
    )
    .replace(flagValue, (all, flag: string, sep: string, value: string) =>
      isSecretFlag(flag) ? `${flag}${sep}${hide(value)}` : all,
    )
    .replace(namedValue, (all: string, name: string, sep: string, value: string) =>
      redactNamed(all, name, sep, value),
    )
    .replace(wellKnownKeys, REDACTED);
}

/** Names in names (`Environment=HF_TOKEN=x`) deeper than this are no settings any more. */
const DEEPEST = 4;

/** A value may itself name a secret: `Environment=HF_TOKEN=x` in a unit. */
function redactNamed(all: string, name: string, sep: string, value: string, depth = 0): string {
  if (isSecretName(name))
    return /^(?:Bearer|Basic)$/i.test(value) ? all : `${name}${sep}${hide(value)}`;
  if (depth === DEEPEST) return all;
  const inner = value.replace(namedValue, (...[found, innerName, innerSep, innerValue]: string[]) =>
    redactNamed(found ?? '', innerName ?? '', innerSep ?? '', innerValue ?? '', depth + 1),
  );
  return `${name}${sep}${inner}`;
}

/** The forms in which a known secret may be printed: plain, JSON-escaped, URL-encoded. */
function spellings(secret: string): string[] {
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])];
}

/** Short secrets would hit parts of ordinary words: those are replaced as whole words only. */
const SHORTEST_ANYWHERE = 6;

function replaceLiteral(text: string, literal: string): string {
  if (literal.length >= SHORTEST_ANYWHERE) return text.replaceAll(literal, REDACTED);
  const escaped = literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`, 'g'), REDACTED);
}

/**
 * Text without secrets: `secrets` (values from `secretValues`) wherever they stand, and whatever
 * follows a secret name (`--api-key x`, `api_key='x'`, `"hf_token": "x"`, `Bearer x`), also the
 * password in a URL. Everything else stays byte for byte.
 *
 * SGLang prints its keys in clear in the `server_args=` line of its log and in `/server_info`
 * (http_server.py, `dataclasses.asdict`, seen in 0.5.23).
 */
export function redactText(text: string, secrets: readonly string[] = []): string {
  const literals = secrets
    .filter((secret) => !unsetValues.has(secret.trim().toLowerCase()))
    .flatMap(spellings)
    .sort((a, b) => b.length - a.length);
  return redactPatterns(literals.reduce(replaceLiteral, text));
}

/**
 * argv without secrets, same length and order: the word after a secret flag, the part after `=`,
 * and secrets inside a word (JSON, `NAME=value` of `docker run -e`, headers).
 */
export function redactArgv(argv: readonly string[]): string[] {
  return argv.map((word, i) => {
    const flag = argv[i - 1];
    if (flag?.startsWith('-') === true && !flag.includes('=') && isSecretFlag(flag)) {
      if (!word.startsWith('--')) return hide(word);
    }
    const joined = /^(--?[A-Za-z][\w-]*)=([^]*)$/.exec(word);
    if (joined?.[1] !== undefined && joined[2] !== undefined && isSecretFlag(joined[1]))
      return `${joined[1]}=${hide(joined[2])}`;
    return redactText(word, secretValues(argv, {}));
  });
}

/** Environment without secrets, same names. A value that only contains one keeps the rest. */
export function redactEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(env).map(([name, value]) => [
    name,
    isSecretName(name) ? hide(value) : redactText(value, secretValues([], env)),
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function redactMember(name: string, value: unknown, secrets: readonly string[]): unknown {
  const isScalar = typeof value === 'string' || typeof value === 'number';
  if (!isSecretName(name)) return redactValue(value, secrets);
  if (isScalar) return hide(String(value));
  if (Array.isArray(value)) return value.map((item: unknown) => redactMember(name, item, secrets));
  return redactValue(value, secrets);
}

function redactValue(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return redactText(value, secrets);
  if (Array.isArray(value)) {
    const isArgv = value.every((item) => typeof item === 'string') && value.length > 1;
    const items: unknown[] = isArgv ? redactArgv(value) : value;
    return items.map((item) => redactValue(item, secrets));
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    redactText(name, secrets),
    redactMember(name, member, secrets),
  ]);
  return Object.fromEntries(members);
}

/** JSON value of the same shape without secrets: values of secret keys, and secrets in strings. */
export function redactJson(value: unknown, secrets: readonly string[] = []): unknown {
  return redactValue(value, secrets);
}

/**
 * Every secret value that an argv and an environment hold, for `redactText`. Use those of the
 * launch for its log, answers and errors. Empty values and `None` are left out.
 */
export function secretValues(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): string[] {
  const found = Object.entries(env)
    .filter(([name]) => isSecretName(name))
    .map(([, value]) => value);
  argv.forEach((word, i) => {
    const [flag = '', ...rest] = word.split('=');
    if (!flag.startsWith('-') || !isSecretFlag(flag)) return;
    const next = argv[i + 1];
    const value = word.includes('=') ? rest.join('=') : next?.startsWith('--') ? '' : (next ?? '');
    found.push(value);
  });
  return [...new Set(found.filter((value) => !unsetValues.has(value.trim().toLowerCase())))];
}
