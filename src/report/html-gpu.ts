import * as Plot from '@observablehq/plot';
import type { GpuReading } from './gpu-readings.ts';
import { html, type Markup } from './html-markup.ts';
import { picture } from './html-plot.ts';

/** Temperature and clock along the night, and why a GPU slowed down. */
export function gpuPictures(readings: readonly GpuReading[]): Markup {
  if (readings.length === 0) {
    return html`<p class="soft">Temperatures and clocks of GPUs were not recorded.</p>`;
  }
  return html`<h3 id="gpus">The GPUs along the way</h3>
<p class="soft">One point for each measurement. A clock that falls while the temperature rises is the machine’s doing, not the flags’.</p>
${readingPicture('hottest GPU, °C', readings, (one) => one.temperatureCelsius)}
${readingPicture('SM clock of the slowest GPU, MHz', readings, (one) => one.smClockMhz)}
${throttleList(readings)}`;
}

function readingPicture(
  label: string,
  readings: readonly GpuReading[],
  figure: (reading: GpuReading) => number | null,
): Markup | null {
  const points = readings.flatMap((reading) => {
    const value = figure(reading);
    if (value === null) return [];
    const title = `C=${reading.concurrency}: ${Math.round(value)}`;
    return { at: new Date(reading.atMs), value, title };
  });
  if (points.length === 0) return null;
  return picture(label, ({ isNarrow }) => ({
    height: 180,
    marginLeft: 64,
    marginRight: 28,
    marginTop: 30,
    marginBottom: 36,
    x: { type: 'time', label: null, ticks: isNarrow ? 3 : 7 },
    y: {
      label,
      labelArrow: 'none',
      grid: true,
      nice: true,
      ticks: 4,
      tickFormat: (value: number) => String(value),
    },
    marks: [
      Plot.line(points, { x: 'at', y: 'value', stroke: 'var(--series-2)' }),
      Plot.dot(points, { x: 'at', y: 'value', fill: 'var(--series-2)', r: 2.5, title: 'title' }),
    ],
  }));
}

function throttleList(readings: readonly GpuReading[]): Markup {
  const counts = new Map<string, number>();
  for (const reason of readings.flatMap(({ throttleReasons }) => throttleReasons)) {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  if (counts.size === 0) return html`<p>No GPU said that it was slowed down.</p>`;
  const items = [...counts].map(
    ([reason, count]) =>
      html`<li><code>${reason}</code> during ${count} of ${readings.length} measurements</li>`,
  );
  return html`<p>What slowed a GPU down:</p><ul>${items}</ul>`;
}
