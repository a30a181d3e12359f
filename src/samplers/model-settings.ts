/** Natural logarithms of what the effect model does not know beforehand, in the order of `PRIORS`. */
export type Settings = readonly number[];

/** Indices of the settings that are not strengths of parameters. */
export const DRIFT = { noise: 0, line: 1, walk: 2 } as const;
export const EFFECT = { pairs: 3, rest: 4, firstStrength: 5 } as const;

/**
 * Centre and spread before data, as logarithms of standard deviations on the log score: noise of a
 * launch 1.5 %, drift over the study 1 % as a line and 0.5 % as a walk, interactions two thirds of
 * what the two main effects would allow on a common scale of 4 %, 0.7 % left unexplained; the last
 * is each parameter's main effect, 3 %, which may well be a tenth or ten times of that.
 */
export const PRIORS: readonly { readonly centre: number; readonly spread: number }[] = [
  { centre: Math.log(0.015), spread: 0.35 },
  { centre: Math.log(0.01), spread: 1 },
  { centre: Math.log(0.005), spread: 1 },
  { centre: Math.log(0.65), spread: 0.8 },
  { centre: Math.log(0.007), spread: 0.7 },
  { centre: Math.log(0.03), spread: 1.3 },
];

/** Settings before data. */
export function startSettings(parameters: number): Settings {
  const strength = PRIORS[EFFECT.firstStrength]?.centre ?? 0;
  const others = PRIORS.slice(0, EFFECT.firstStrength).map(({ centre }) => centre);
  return [...others, ...Array.from({ length: parameters }, () => strength)];
}
