import type { Mark, PointMetrics } from '../metrics/point-metrics.ts';
import { formatValue } from '../search-space/values.ts';
import { type EffectiveConfiguration, limitMarks } from '../sglang/effective-configuration.ts';

/**
 * The metrics with what the server's own configuration says about them: limits that change what
 * this concurrency measures, and swept values that are not in force.
 */
export function withServerMarks(
  metrics: PointMetrics,
  effective: EffectiveConfiguration,
): PointMetrics {
  const tokensPerRequest =
    (metrics.promptTokens + metrics.outputTokens) / Math.max(1, metrics.completed);
  const known = new Set(metrics.marks.map(({ code }) => code));
  const limits = limitMarks(effective, metrics.concurrency, tokensPerRequest)
    .filter(({ code }) => !known.has(code))
    .map(({ code, facts, flag }): Mark => ({ code, facts: { ...facts, flag } }));
  return { ...metrics, marks: [...metrics.marks, ...limits, ...notInForce(effective)] };
}

function notInForce({ values }: EffectiveConfiguration): readonly Mark[] {
  return Object.entries(values).flatMap(([parameter, { asked, effective, took }]): Mark[] => {
    if (took !== 'no') return [];
    const runs = effective === undefined ? 'its default' : formatValue(effective);
    return [{ code: 'value-not-in-force', facts: { parameter, asked: formatValue(asked), runs } }];
  });
}
