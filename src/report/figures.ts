/** A share as a signed percentage: `+8.3 %`; a true minus sign would break scripts, so `-`. */
export function signedPercent(fraction: number, digits = 1): string {
  const text = (fraction * 100).toFixed(digits);
  const isZero = Number(text) === 0;
  return `${isZero ? (0).toFixed(digits) : fraction > 0 ? `+${text}` : text} %`;
}

/** A share as a percentage: `30 %`. */
export function percent(fraction: number): string {
  return `${Number((fraction * 100).toFixed(1))} %`;
}

/** Tokens per second, with as many digits as such figures carry. */
export function speed(tokensPerSecond: number): string {
  return tokensPerSecond.toFixed(tokensPerSecond < 1000 ? 1 : 0);
}

/** `1`, `1 and 4`, `1, 4 and 16`. */
export function list(items: readonly (number | string)[]): string {
  const words = items.map(String);
  const last = words.pop() ?? '';
  return words.length === 0 ? last : `${words.join(', ')} and ${last}`;
}
