import { Client } from 'undici';
import { requestHeaders, serverAddress } from './server-url.ts';

export interface HttpCall {
  readonly baseUrl: string;
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly apiKey?: string | undefined;
  readonly body?: string | Buffer;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * One small request on a socket of its own, no proxy, no retry: for everything but load. Rejects
 * when the server cannot be reached or does not answer in `timeoutMs`.
 */
export async function httpCall(call: HttpCall): Promise<HttpAnswer> {
  const { origin, path } = serverAddress(call.baseUrl);
  const client = new Client(origin.origin, { headersTimeout: 0, bodyTimeout: 0 });
  const deadline = AbortSignal.timeout(Math.ceil(call.timeoutMs));
  try {
    const { statusCode, body } = await client.request({
      path: path + call.path,
      method: call.method ?? 'GET',
      headers: requestHeaders(call.apiKey),
      body: call.body ?? null,
      signal: call.signal === undefined ? deadline : AbortSignal.any([deadline, call.signal]),
    });
    return { status: statusCode, text: await body.text() };
  } finally {
    await client.destroy();
  }
}
