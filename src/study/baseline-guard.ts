import type { BaselineExpectation } from '../config/study.ts';
import { UserError } from '../errors.ts';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import type { Measurer, ServerFacts } from './services.ts';

interface Comparison {
  readonly concurrency: number;
  readonly recorded: number;
  readonly measured: number;
  readonly changeFraction: number;
}

/**
 * Measures the baseline the way its recorded numbers were taken, before anything is changed.
 *
 * @throws UserError with a table when one of them is missed by more than the tolerance: then the
 *   server is not the one that was recorded, and no comparison with it would hold.
 */
export async function checkBaseline(
  { values, throughput, toleranceFraction }: BaselineExpectation,
  measurer: Measurer,
  facts: ServerFacts,
  signal: AbortSignal,
): Promise<void> {
  const comparisons: Comparison[] = [];
  for (const [concurrency, recorded] of values) {
    const { metrics } = await measurer.measure({
      facts,
      concurrency,
      round: 0,
      repeat: 0,
      signal,
      onPhase: () => undefined,
      onProgress: () => undefined,
    });
    signal.throwIfAborted();
    const measured = figureOf(metrics, throughput);
    comparisons.push({
      concurrency,
      recorded,
      measured,
      changeFraction: measured / recorded - 1,
    });
  }
  const missed = comparisons.filter(
    ({ changeFraction }) => Math.abs(changeFraction) > toleranceFraction,
  );
  if (missed.length === 0) return;
  const percent = (toleranceFraction * 100).toFixed(1);
  throw new UserError(
    `the baseline does not match its recorded numbers within ${percent} %:\n${table(comparisons)}`,
    {
      hint: 'find out what changed on the server, or correct baseline.expect; nothing was changed',
    },
  );
}

function figureOf(metrics: PointMetrics, throughput: BaselineExpectation['throughput']): number {
  if (throughput === 'whole-run') return metrics.wholeRunTokensPerSecond;
  return metrics.steadyTokensPerSecond ?? metrics.wholeRunTokensPerSecond;
}

function table(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ concurrency, recorded, measured, changeFraction }) =>
    [
      String(concurrency).padStart(4),
      recorded.toFixed(1).padStart(10),
      measured.toFixed(1).padStart(10),
      `${(changeFraction * 100).toFixed(1)} %`.padStart(9),
    ].join(''),
  );
  return ['   C  recorded  measured   change', ...rows].join('\n');
}
