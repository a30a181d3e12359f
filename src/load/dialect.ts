/** Which extensions of the OpenAI API a server takes. */
export interface Dialect {
  /** `stream_options`: usage in the stream at all. Without it tokens can only be estimated. */
  readonly streamUsage: boolean;
  /** Usage on every chunk (SGLang, vLLM); else only with the last. */
  readonly continuousUsage: boolean;
  readonly ignoreEos: boolean;
  readonly lengthKey: 'max_tokens' | 'max_completion_tokens';
}

export const fullDialect: Dialect = {
  streamUsage: true,
  continuousUsage: true,
  ignoreEos: true,
  lengthKey: 'max_tokens',
};
