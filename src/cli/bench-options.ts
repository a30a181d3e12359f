import { InvalidArgumentError } from 'commander';
import type { IdRange } from '../load/prompts/token-prompts.ts';
import type { Slos } from '../metrics/goodput.ts';

/** Parses a number above zero. */
export function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) {
    throw new InvalidArgumentError(`expected a number above zero; got "${text}"`);
  }
  return value;
}

/** Parses a share such as `0.5`. */
export function share(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 1)) {
    throw new InvalidArgumentError(`expected a share from 0 to 1; got "${text}"`);
  }
  return value;
}

/** Parses `2,4.5,8` into rates per second. */
export function rates(text: string): readonly number[] {
  return text.split(',').map(positive);
}

/** Parses `0-511` into token ids, both ends included. */
export function idRange(text: string): IdRange {
  const match = /^(\d+)-(\d+)$/.exec(text.trim());
  const [from, to] = [Number(match?.[1]), Number(match?.[2])];
  if (!(to >= from)) throw new InvalidArgumentError(`expected ids such as 0-511; got "${text}"`);
  return { from, below: to + 1 };
}

const SLO_KEYS = { ttft: 'ttftMs', tpot: 'tpotMs', e2e: 'e2eMs' } as const;

/** Parses `ttft=500,tpot=50` into limits in ms. */
export function slos(text: string): Slos {
  const entries = text.split(',').map((part) => {
    const [name = '', value = ''] = part.split('=');
    if (!Object.hasOwn(SLO_KEYS, name.trim())) {
      const names = Object.keys(SLO_KEYS).join(', ');
      throw new InvalidArgumentError(`expected ${names} with ms, such as ttft=500; got "${part}"`);
    }
    return [SLO_KEYS[name.trim() as keyof typeof SLO_KEYS], positive(value)] as const;
  });
  return Object.fromEntries(entries);
}
