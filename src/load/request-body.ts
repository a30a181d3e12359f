import { UserError } from '../errors.ts';
import { fullDialect } from './dialect.ts';
import type { Api, LoadPlan, Prompt } from './load-run.ts';

/** Path of each API below the server's base URL. */
export const apiPaths = {
  native: '/generate',
  'openai-completions': '/v1/completions',
  'openai-chat': '/v1/chat/completions',
} satisfies Record<Api, string>;

/** What a request asks for besides its prompt. */
export interface RequestShape
  extends Pick<LoadPlan, 'api' | 'model' | 'outputTokens' | 'ignoreEos' | 'dialect'> {
  readonly stream: boolean;
}

/**
 * Body of one request as JSON bytes, greedy (temperature 0). `requestId` lets the native API abort
 * it. OpenAI requests use the extensions that the dialect allows.
 * Throws UserError for a prompt that the API cannot take.
 */
export function requestBody(shape: RequestShape, prompt: Prompt, requestId: string): Buffer {
  return Buffer.from(JSON.stringify(bodyOf(shape, prompt, requestId)));
}

function bodyOf(shape: RequestShape, prompt: Prompt, requestId: string): object {
  const { api, outputTokens, ignoreEos, stream } = shape;
  switch (api) {
    case 'native':
      return {
        ...(prompt.kind === 'ids' ? { input_ids: prompt.ids } : { text: textOf(prompt) }),
        sampling_params: { temperature: 0, max_new_tokens: outputTokens, ignore_eos: ignoreEos },
        stream,
        rid: requestId,
      };
    case 'openai-completions':
      return { prompt: prompt.kind === 'ids' ? prompt.ids : textOf(prompt), ...common(shape) };
    case 'openai-chat':
      return { messages: messagesOf(prompt), ...common(shape) };
  }
}

function common({ model, outputTokens, ignoreEos, stream, dialect = fullDialect }: RequestShape) {
  const usage = {
    include_usage: true,
    ...(dialect.continuousUsage ? { continuous_usage_stats: true } : {}),
  };
  return {
    model,
    [dialect.lengthKey]: outputTokens,
    temperature: 0,
    ...(ignoreEos && dialect.ignoreEos ? { ignore_eos: true } : {}),
    stream,
    ...(stream && dialect.streamUsage ? { stream_options: usage } : {}),
  };
}

function textOf(prompt: Exclude<Prompt, { kind: 'ids' }>): string {
  if (prompt.kind === 'text') return prompt.text;
  return prompt.messages.map(({ role, content }) => `${role}: ${content}`).join('\n\n');
}

function messagesOf(prompt: Prompt): readonly object[] {
  if (prompt.kind === 'messages') return prompt.messages;
  if (prompt.kind === 'text') return [{ role: 'user', content: prompt.text }];
  throw new UserError('the chat API takes text, not token ids', {
    hint: 'use the native or the completions API, or prompts such as code or chat',
  });
}
