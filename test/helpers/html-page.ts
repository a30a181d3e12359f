import { DOMParser } from 'linkedom';

/** What tests ask of an element. */
export interface HtmlElement {
  readonly textContent: string;
  getAttribute(name: string): string | null;
  querySelectorAll(selector: string): Iterable<HtmlElement>;
}

/** The elements of a page that a selector finds, in order. */
export function elements(page: string, selector: string): readonly HtmlElement[] {
  const document: unknown = new DOMParser().parseFromString(page, 'text/html');
  return [...(document as HtmlElement).querySelectorAll(selector)];
}

/** Their texts. */
export function texts(page: string, selector: string): readonly string[] {
  return elements(page, selector).map(({ textContent }) => textContent);
}
