import { UserError } from '../errors.ts';

/** Where a server listens: origin for the socket, path to put before every endpoint. */
export interface ServerAddress {
  readonly origin: URL;
  /** Empty, or a path without closing slash. */
  readonly path: string;
}

/**
 * Splits a base URL. A closing `/v1`, which people copy from OpenAI clients, is dropped. Throws
 * UserError for anything but http and https.
 */
export function serverAddress(baseUrl: string): ServerAddress {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError(`'${baseUrl}' is no base URL`, {
      hint: 'write it like http://127.0.0.1:30000',
    });
  }
  const path = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  return { origin: new URL(url.origin), path };
}

/** Headers of every request. The key is a secret: it goes nowhere else. */
export function requestHeaders(apiKey: string | undefined): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
}
