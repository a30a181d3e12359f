import type { Assignment } from '../search-space/assignment.ts';
import { formatValue, sameValue } from '../search-space/values.ts';
import type { EffectiveConfiguration } from '../sglang/effective-configuration.ts';
import type { FailureCause } from '../sglang/failure-causes.ts';

/** What a ready server's own report says about its trial. */
export type ReadBack =
  | { readonly state: 'wanted' }
  /** The server runs what the one of another trial ran: nothing new to measure. */
  | { readonly state: 'equivalent'; readonly sameAs: number }
  /** A value that was to be tried does not run: what would be measured is something else. */
  | {
      readonly state: 'not-in-force';
      readonly failure: Pick<FailureCause, 'code' | 'kind' | 'message' | 'directions'>;
    };

export const NOT_IN_FORCE = 'value-not-in-force';

/** A trial that was measured, with the configuration its server reported. */
export interface MeasuredConfiguration {
  readonly trial: number;
  readonly key: string;
}

/**
 * Compares what a server reports with what its trial wanted to try.
 *
 * Only values that the baseline does not have count as tried: production's own settings are what
 * they are. An asked limit that memory did not grant tells that higher ones will not be granted
 * either.
 */
export function readBack(
  assignment: Assignment,
  baseline: Assignment,
  { values, key }: EffectiveConfiguration,
  measured: readonly MeasuredConfiguration[],
): ReadBack {
  const twin = key === null ? undefined : measured.find((one) => one.key === key);
  if (twin !== undefined) return { state: 'equivalent', sameAs: twin.trial };
  for (const [parameter, { asked, effective, took }] of Object.entries(values)) {
    const isTried = !sameValue(asked, baseline[parameter] ?? null);
    if (took !== 'no' || !isTried || sameValue(asked, null)) continue;
    const runs = effective === undefined ? 'has no effect' : `runs as ${formatValue(effective)}`;
    const isCut = typeof asked === 'number' && typeof effective === 'number' && effective < asked;
    return {
      state: 'not-in-force',
      failure: {
        code: NOT_IN_FORCE,
        kind: 'infeasible',
        message: `${parameter} ${formatValue(asked)} ${runs}, as the server itself reports`,
        directions:
          isCut && parameter in assignment && LIMITS.has(parameter)
            ? [{ flag: parameter, value: 'too-high' }]
            : [],
      },
    };
  }
  return { state: 'wanted' };
}

/** Flags that ask for at most so much; memory grants less. */
const LIMITS: ReadonlySet<string> = new Set([
  'max-mamba-cache-size',
  'max-running-requests',
  'max-total-tokens',
]);
