/** Text that is HTML already; only {@link html} and {@link rawHtml} make it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = string | number | Markup | null | undefined | false | readonly Content[];

/**
 * A piece of HTML from a template. Everything put into it is escaped, except other pieces; lists
 * are joined; null, undefined and false are left out. Safe inside text and quoted attributes.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Markup {
  return new Markup(parts.map((part, i) => part + contentText(values[i])).join(''));
}

/** Trusted text (a picture, a style sheet) as a piece of HTML, not escaped. */
export function rawHtml(text: string): Markup {
  return new Markup(text);
}

/** JSON for a script element: `<` is written so that no text in it can end the element. */
export function jsonScript(id: string, value: unknown): Markup {
  const json = JSON.stringify(value).replaceAll('<', '\\u003c');
  return html`<script type="application/json" id="${id}">${rawHtml(json)}</script>`;
}

function contentText(value: Content): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(contentText).join('');
  return escapeText(String(value));
}

function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
