import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ResponseReader } from '../../../src/load/http-response.ts';

/** What a response that arrives in these pieces says; `rest` is what lies behind its end. */
function read(pieces: readonly Buffer[], closes = false) {
  const seen = { status: 0, contentType: '', body: '', ended: false };
  const reader = new ResponseReader({
    onHead: (head) => Object.assign(seen, head),
    onBody: (bytes, from, to) => {
      seen.body += bytes.toString('latin1', from, to);
    },
    onEnd: () => {
      seen.ended = true;
    },
  });
  let rest = 0;
  for (const piece of pieces) rest += piece.length - reader.push(piece, 0, piece.length);
  if (closes) reader.close();
  return { ...seen, rest, keepsAlive: reader.keepsAlive, idleSeconds: reader.idleSeconds };
}

const response = (...lines: string[]): Buffer => Buffer.from(lines.join('\r\n'), 'latin1');
const CHUNKED = response(
  'HTTP/1.1 200 OK',
  'Content-Type: text/event-stream; charset=utf-8',
  'Transfer-Encoding: chunked',
  'Keep-Alive: timeout=5',
  '',
  '8;ext=1',
  'data: a\n',
  '1B',
  `\n${'x'.repeat(26)}`,
  '0',
  'X-Trailer: 1',
  '',
  '',
);

describe('a response', () => {
  test('in chunks is put together, its extensions and trailers left out', () => {
    expect(read([CHUNKED])).toEqual({
      status: 200,
      contentType: 'text/event-stream; charset=utf-8',
      body: `data: a\n\n${'x'.repeat(26)}`,
      ended: true,
      rest: 0,
      keepsAlive: true,
      idleSeconds: 5,
    });
  });

  test('in any pieces says the same', () => {
    const whole = read([CHUNKED]);
    fc.assert(
      fc.property(fc.array(fc.nat(CHUNKED.length), { maxLength: 8 }), (positions) => {
        const cuts = [0, ...positions.sort((a, b) => a - b), CHUNKED.length];
        const pieces = cuts.slice(1).map((to, i) => CHUNKED.subarray(cuts[i], to));
        expect(read(pieces)).toEqual(whole);
      }),
      { seed: 7 },
    );
    expect(read(Array.from(CHUNKED, (_, i) => CHUNKED.subarray(i, i + 1)))).toEqual(whole);
  });

  test('of known length ends there, and what follows is not its', () => {
    const bytes = response('HTTP/1.1 503 Busy', 'content-length: 3', '', 'nohello');
    expect(read([bytes])).toMatchObject({ status: 503, body: 'noh', ended: true, rest: 4 });
  });

  test('without a length ends with its connection', () => {
    const bytes = response('HTTP/1.1 200 OK', 'connection: close', '', 'all of it');
    expect(read([bytes])).toMatchObject({ ended: false, keepsAlive: false });
    expect(read([bytes], true)).toMatchObject({ body: 'all of it', ended: true });
  });

  test('that ends early is not whole', () => {
    expect(read([CHUNKED.subarray(0, -9)], true).ended).toBe(false);
  });

  test('comes after interim ones', () => {
    const bytes = response('HTTP/1.1 100 Continue', '', 'HTTP/1.1 204 None', 'x: 1', '', '');
    expect(read([bytes])).toMatchObject({ status: 204, body: '', ended: true });
  });

  test('of HTTP/1.0 ends the connection', () => {
    expect(read([response('HTTP/1.0 200 OK', 'content-length: 0', '', '')])).toMatchObject({
      ended: true,
      keepsAlive: false,
    });
  });

  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['no size of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
    ['a chunk longer than it said', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab'],
    ['an endless head', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}`],
    ['a length that is none', 'HTTP/1.1 200 OK\r\ncontent-length: 1e3\r\n\r\n'],
  ])('with %s is refused', (_what, text) => {
    expect(() => read([Buffer.from(text)])).toThrow(expect.objectContaining({ code: 'EPROTO' }));
  });
});
