const SECONDS_PER_UNIT = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 } as const;
const DURATION_PART = /(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/g;
const DURATION = /^(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)\s*)+$/;

/** Multipliers as SGLang reads token counts: `k` is a thousand, `Ki` is 1024. */
const COUNT_MULTIPLIER = { '': 1, k: 1e3, Ki: 1024, M: 1e6, Mi: 1024 ** 2 } as const;
const COUNT = /^(\d+(?:\.\d+)?)\s*(k|Ki|M|Mi)?$/;

/** Seconds of `90s`, `5m`, `1h 30m`, `500ms` or a plain number of seconds; undefined if it is none. */
export function parseSeconds(written: string | number): number | undefined {
  if (typeof written === 'number') return Number.isFinite(written) ? written : undefined;
  const text = written.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  if (!DURATION.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, unit] of text.matchAll(DURATION_PART)) {
    seconds += Number(amount) * SECONDS_PER_UNIT[unit as keyof typeof SECONDS_PER_UNIT];
  }
  return seconds;
}

/** Fraction (0 to 1 and above) of `3%` or of a plain number; undefined if it is neither. */
export function parseFraction(written: string | number): number | undefined {
  if (typeof written === 'number') return Number.isFinite(written) ? written : undefined;
  const match = /^(-?\d+(?:\.\d+)?)\s*(%?)$/.exec(written.trim());
  if (match === null) return undefined;
  return match[2] === '%' ? Number(match[1]) / 100 : Number(match[1]);
}

/** Whole number of `1000`, `8k`, `8Ki`; undefined if it is none. */
export function parseCount(written: string | number): number | undefined {
  if (typeof written === 'number') return Number.isSafeInteger(written) ? written : undefined;
  const match = COUNT.exec(written.trim());
  if (match === null) return undefined;
  const multiplier = COUNT_MULTIPLIER[(match[2] ?? '') as keyof typeof COUNT_MULTIPLIER];
  const count = Number(match[1]) * multiplier;
  return Number.isSafeInteger(count) ? count : undefined;
}

/** Time of day as `HH:MM`, with both digits of the hour; undefined if it is none. */
export function parseTimeOfDay(written: string): string | undefined {
  const match = /^(\d{1,2}):(\d{2})$/.exec(written.trim());
  if (match === null || Number(match[1]) > 23 || Number(match[2]) > 59) return undefined;
  return `${(match[1] ?? '').padStart(2, '0')}:${match[2] ?? ''}`;
}
