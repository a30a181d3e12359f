import type { PromptTokens } from './prompt.ts';

/** Why an answer ended, in SGLang's terms. */
export type FinishReason =
  | { readonly type: 'length'; readonly length: number }
  | { readonly type: 'stop'; readonly matched: number }
  | { readonly type: 'abort'; readonly message: string };

/** Token id that ends an answer (`<|im_end|>` of the Qwen family). */
export const END_TOKEN = 151_645;

/** One request inside the simulated scheduler. Moments are simulated ms. */
export class EngineRequest {
  arrivedAtMs = 0;
  scheduledAtMs: number | undefined;
  firstTokenAtMs: number | undefined;
  lastTokenAtMs: number | undefined;
  cachedTokens = 0;
  outputTokens = 0;
  verifyCount = 0;
  retractions = 0;
  /** Most requests that were in flight together with it. */
  peakInFlight = 0;
  /** Answer ends by itself after so many tokens; undefined until that is decided. */
  endsAtTokens: number | undefined;
  finish: FinishReason | undefined;
  /** How often 0, 1, 2... draft tokens were accepted. */
  readonly acceptedHistogram: number[] = [];

  readonly id: string;
  readonly prompt: PromptTokens;
  readonly maxNewTokens: number;
  readonly ignoreEos: boolean;
  /** Called when tokens arrived or the request ended, at most once per scheduler step. */
  readonly onProgress: (request: EngineRequest) => void;

  constructor(
    id: string,
    prompt: PromptTokens,
    maxNewTokens: number,
    ignoreEos: boolean,
    onProgress: (request: EngineRequest) => void,
  ) {
    this.id = id;
    this.prompt = prompt;
    this.maxNewTokens = maxNewTokens;
    this.ignoreEos = ignoreEos;
    this.onProgress = onProgress;
  }

  get promptTokens(): number {
    return this.prompt.ids.length;
  }

  /** Tokens it holds in the KV cache. */
  get heldTokens(): number {
    return this.promptTokens + this.outputTokens;
  }
}
