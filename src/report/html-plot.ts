import * as Plot from '@observablehq/plot';
import { DOMParser } from 'linkedom';
import { html, type Markup, rawHtml } from './html-markup.ts';

/** Widths a picture is drawn at; the style sheet shows the one that fits, so that no label shrinks. */
const WIDTHS = { wide: 760, narrow: 340 } as const;
type WidthName = keyof typeof WIDTHS;

/** What a picture needs to know of where it is drawn. */
export interface Canvas {
  readonly width: number;
  readonly isNarrow: boolean;
}

/**
 * A picture as SVG, drawn for wide and for narrow pages. Colours are those of the style sheet
 * (`var(--series-0)`), so that light, dark and print need no second picture.
 *
 * @param label what it shows, for people who do not see it.
 */
export function picture(
  label: string,
  draw: (canvas: Canvas) => Plot.PlotOptions,
  legend?: Markup,
): Markup {
  const names = Object.keys(WIDTHS) as WidthName[];
  const drawn = names.map((name) => {
    const width = WIDTHS[name];
    const options = draw({ width, isNarrow: name === 'narrow' });
    const svg = svgText({ width, style: { fontSize: '12px' }, ...options });
    const labelled = svg.replace('<svg ', '<svg role="img" ');
    return html`<div class="plot ${name}" aria-label="${label}">${rawHtml(labelled)}</div>`;
  });
  return html`<figure>${legend}${drawn}</figure>`;
}

function svgText(options: Plot.PlotOptions): string {
  const drawn: unknown = Plot.plot({ ...options, ...emptyPage() });
  if (!isElement(drawn)) throw new Error('Plot drew nothing');
  return drawn.outerHTML;
}

/** A document for Plot to draw in, since there is no browser here. */
function emptyPage(): object {
  const document: unknown = new DOMParser().parseFromString('<html></html>', 'text/html');
  return { document };
}

function isElement(value: unknown): value is { readonly outerHTML: string } {
  return typeof value === 'object' && value !== null && 'outerHTML' in value;
}

/** Concurrency axis: logarithmic, a tick at each measured concurrency that has room. */
export function concurrencyAxis(
  concurrencies: readonly number[],
  { isNarrow }: Canvas,
): Plot.ScaleOptions {
  const ticks = spread(concurrencies, isNarrow ? 7 : 14);
  return {
    type: 'log',
    base: 2,
    ticks: [...ticks],
    tickFormat: (value: number) => String(value),
    label: 'requests in flight',
    labelAnchor: 'center',
    labelArrow: 'none',
    inset: 14,
  };
}

/** At most `most` of the values, first and last included. */
function spread(values: readonly number[], most: number): readonly number[] {
  if (values.length <= most) return values;
  const step = (values.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, i) => values[Math.round(i * step)] ?? 0);
}
