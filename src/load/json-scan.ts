const [COLON, SPACE, ZERO, NINE] = [58, 32, 48, 57];

/**
 * Name of the cumulative count of output tokens. In JSON text a quote inside a string is escaped,
 * so this occurs only as a key: generated text cannot forge it.
 */
const TOKENS_KEY = Buffer.from('"completion_tokens"');

/**
 * The number after the last `"completion_tokens":` of the JSON text `from`..`to` of `bytes`, read
 * without parsing the rest; undefined when there is none.
 */
export function completionTokens(bytes: Buffer, from: number, to: number): number | undefined {
  const key = bytes.lastIndexOf(TOKENS_KEY, to - TOKENS_KEY.length);
  if (key < from) return undefined;
  let at = key + TOKENS_KEY.length;
  while (at < to && (bytes[at] === COLON || bytes[at] === SPACE)) at += 1;
  let value: number | undefined;
  for (; at < to; at += 1) {
    const digit = bytes[at] ?? 0;
    if (digit < ZERO || digit > NINE) break;
    value = (value ?? 0) * 10 + digit - ZERO;
  }
  return value;
}

/** Whether `pattern` lies within `from`..`to` of `bytes`. */
export function holds(bytes: Buffer, from: number, to: number, pattern: Buffer): boolean {
  const at = bytes.indexOf(pattern, from);
  return at !== -1 && at + pattern.length <= to;
}
