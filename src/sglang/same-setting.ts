import type { FlagValue } from '../search-space/assignment.ts';
import { numericValue, sameValue } from '../search-space/values.ts';

const FACTORS: Readonly<Record<string, number>> = {
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** `16k` and `16Ki` as SGLang's `human_readable_int` reads them (utils/common.py:3394 at 0.5.23). */
function suffixed(value: FlagValue): number | undefined {
  if (typeof value !== 'string') return undefined;
  const found = /^\s*(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)\s*$/.exec(value);
  const factor = FACTORS[found?.[2] ?? ''];
  return factor === undefined ? undefined : Math.trunc(Number(found?.[1]) * factor);
}

/** Names that mean the same algorithm: server info shows EAGLE for NEXTN. */
function comparable(flag: string, value: FlagValue): FlagValue {
  if (flag !== 'speculative-algorithm' || typeof value !== 'string') return value;
  const name = value.toUpperCase();
  return name === 'NEXTN' ? 'EAGLE' : name;
}

/** Whether two spellings of a flag's value mean the same to SGLang: 16k and 16000, NEXTN and EAGLE. */
export function sameSetting(flag: string, a: FlagValue, b: FlagValue): boolean {
  const [left, right] = [comparable(flag, a), comparable(flag, b)];
  if (sameValue(left, right)) return true;
  const x = numericValue(left) ?? suffixed(left);
  return x !== undefined && x === (numericValue(right) ?? suffixed(right));
}

/** Values by which the choice is left to the server: whatever it makes of them is in force. */
export function leavesChoice(value: FlagValue): boolean {
  return value === null || value === 'auto';
}
