import { readdirSync, readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AnswerReader, answerReaders } from '../../../src/load/answer-reader.ts';
import { SseScanner } from '../../../src/load/sse-scanner.ts';

const folder = new URL('../../fixtures/sse/', import.meta.url);
const recordings = readdirSync(folder).map((name) => ({
  name,
  bytes: readFileSync(new URL(name, folder)),
}));

/** Data of every event of a stream that arrives in these pieces. */
function scan(pieces: readonly Buffer[]): string[] {
  const events: string[] = [];
  const scanner = new SseScanner((bytes, from, to) =>
    events.push(bytes.toString('utf8', from, to)),
  );
  for (const piece of pieces) scanner.push(piece);
  scanner.end();
  return events;
}

function read(reader: AnswerReader, pieces: readonly Buffer[]) {
  const scanner = new SseScanner((bytes, from, to) => {
    reader.event(bytes, from, to, 5);
  });
  for (const piece of pieces) scanner.push(piece);
  scanner.end();
  return reader.facts(true);
}

/** What another parser finds; it drops an event without its blank line, so one is added. */
function oracle(bytes: Buffer): string[] {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(data) });
  parser.feed(`${bytes.toString()}\n\n`);
  return events;
}

const cut = (bytes: Buffer, ...positions: number[]): Buffer[] =>
  [0, ...positions].map((from, i) => bytes.subarray(from, positions[i] ?? bytes.length));

const readerOf = (name: string): AnswerReader =>
  name.includes('generate') ? answerReaders.native() : answerReaders['openai-chat']();

describe.each(recordings)('$name', ({ name, bytes }) => {
  const whole = scan([bytes]);

  test('has the events that another parser finds', () => {
    expect(whole.length).toBeGreaterThan(0);
    expect(whole).toEqual(oracle(bytes));
  });

  test('cut at any byte gives the same events and the same answer (E14)', () => {
    const facts = read(readerOf(name), [bytes]);
    for (let at = 1; at < bytes.length; at += 1) {
      const pieces = cut(bytes, at);
      if (scan(pieces).join('\u0000') !== whole.join('\u0000')) expect(scan(pieces)).toEqual(whole);
      expect(read(readerOf(name), pieces)).toEqual(facts);
    }
  });

  test('byte by byte gives the same events', () => {
    expect(scan(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)))).toEqual(whole);
  });

  test('with CRLF lines gives the same events', () => {
    const crlf = Buffer.from(bytes.toString().replaceAll('\r\n', '\n').replaceAll('\n', '\r\n'));
    expect(scan([crlf])).toEqual(whole);
  });
});

test('any stream in any pieces gives what another parser gives', () => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
    fc.constantFrom('data', 'data:', ': comment', '', '', 'event: x', 'datax: no', 'id: 1'),
  );
  const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 });
  fc.assert(
    fc.property(stream, fc.array(fc.nat(400), { maxLength: 6 }), (lines, positions) => {
      // The byte order mark is the oracle's own affair: it drops one only in front of a field.
      const bytes = Buffer.from(lines.flat().join('').replaceAll('\ufeff', ''));
      const ascending = positions.map((at) => Math.min(at, bytes.length)).toSorted((a, b) => a - b);
      expect(scan(cut(bytes, ...ascending))).toEqual(oracle(bytes));
    }),
    { numRuns: 500 },
  );
});
