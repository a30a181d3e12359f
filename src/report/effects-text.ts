import { type Effect, effectsOf } from '../ranking/effects.ts';
import type { Ranking } from '../ranking/ranking.ts';
import { formatValue } from '../search-space/values.ts';
import { signedPercent } from './figures.ts';

/** Interactions told one by one. */
const SHOWN = 8;

/**
 * What each value does to the score, and where two of them do something else together than alone:
 * one line each. Empty for a study too small to tell.
 */
export function effectLines(ranking: Ranking): readonly string[] {
  const { mains, interactions } = effectsOf(ranking);
  if (mains.length === 0) return [];
  const byStrength = [...mains].sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return [
    'what each value does beside production’s own (model of all trials):',
    ...byStrength.map((main) => `  ${nameOf(main.parameter, main.value)}: ${effectText(main)}`),
    ...interactions.slice(0, SHOWN).map((one) => {
      const name = nameOf(one.parameter, one.value);
      const other = nameOf(one.withParameter, one.withValue);
      return `  ${name}: ${signedPercent(one.alone.change)} alone, ${signedPercent(one.together.change)} with ${other}`;
    }),
  ];
}

function nameOf(parameter: string, value: Parameters<typeof formatValue>[0]): string {
  return `${parameter} ${formatValue(value)}`;
}

function effectText({ change, low, high }: Effect): string {
  return `${signedPercent(change)} (${signedPercent(low)} to ${signedPercent(high)})`;
}
