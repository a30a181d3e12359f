import { answerToken, tokenText } from './answer.ts';
import type { EngineRequest } from './engine-request.ts';

/**
 * Text and ids of one answer as it grows. Both are kept as strings and only extended: rebuilding a
 * cumulative event from its tokens would cost the square of the answer's length.
 */
export class AnswerText {
  text = '';
  /** Comma-separated ids, without brackets. */
  ids = '';
  tokens = 0;

  readonly #request: EngineRequest;

  constructor(request: EngineRequest) {
    this.#request = request;
  }

  /** Brings it up to the request's token count; returns what was added. */
  catchUp(): { readonly text: string; readonly ids: string } {
    let text = '';
    let ids = '';
    while (this.tokens < this.#request.outputTokens) {
      const id = answerToken(this.#request.prompt.hash, this.tokens);
      text += tokenText(id);
      ids += ids === '' ? String(id) : `,${id}`;
      this.tokens += 1;
    }
    this.text += text;
    if (ids !== '') this.ids += this.ids === '' ? ids : `,${ids}`;
    return { text, ids };
  }
}
