/** Words that make a name secret wherever they stand in it. */
const secretWords = new Set([
  'key',
  'keys',
  'apikey',
  'apikeys',
  'secret',
  'secrets',
  'password',
  'passwd',
  'passphrase',
  'pgpassword',
  'credential',
  'credentials',
  'authorization',
  'bearer',
  'cookie',
]);

/** Words that make a name secret only as its last word: `HF_TOKEN`, but not `token_usage`. */
const secretLastWords = new Set(['token', 'auth', 'pass', 'pat', 'pwd', 'pw']);

/** `eos_token` is vocabulary, not a credential. */
const vocabularyWords = new Set(
  'bos eos pad unk sep cls mask stop next new cached full image audio video think prefix special first time per num'.split(
    ' ',
  ),
);

/** SGLang's own flags for secrets; argparse accepts their abbreviations too (`--api-k`). */
const secretFlags = ['api-key', 'admin-api-key', 'ssl-keyfile-password'];

/** Settings that hold keys without saying so: SGLang 0.5.23 hides this one in its own log. */
const secretNames = new Set(['watermark_config']);

/** Flags that are spelled like the start of a secret flag, and are none. */
const plainFlags = new Set(['ssl-keyfile']);

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/**
 * Whether a flag, environment variable, JSON key or HTTP header of this name holds a secret.
 *
 * Decided by words, so that names of later versions and of other programs are covered
 * (`watermark_key_b`, `WANDB_API_KEY`). Numbers of tokens, tokenizer settings and paths of key
 * files are none.
 */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name);
  const last = words.at(-1);
  if (last === undefined || (last === 'pwd' && words.length === 1) || name === 'OLDPWD')
    return false;
  if (secretNames.has(words.join('_'))) return true;
  if (last === 'path' || last === 'file' || last === 'keyfile') return false;
  const isSecretWord = (word: string, i: number) =>
    secretWords.has(word) && !(word === 'key' && /^values?$/.test(words[i + 1] ?? ''));
  if (words.some(isSecretWord)) return true;
  return secretLastWords.has(last) && !vocabularyWords.has(words.at(-2) ?? '');
}

/** As `isSecretName`, for a flag: with or without dashes in front, abbreviations included. */
export function isSecretFlag(flag: string): boolean {
  const name = flag.replace(/^-+/, '').replaceAll('_', '-');
  if (plainFlags.has(name)) return false;
  return isSecretName(name) || (name.length >= 3 && secretFlags.some((f) => f.startsWith(name)));
}
