import { expect, test } from 'vitest';
import { NoAnswerError } from '../../../src/load/network-failure.ts';
import { RefusedKeyError } from '../../../src/load/server-probe.ts';
import { proveServing } from '../../../src/study/prove-serving.ts';

/** A clock whose sleeps pass at once, unless aborted. */
function quickClock() {
  let now = 0;
  return {
    wallMs: () => now,
    nowMs: () => now,
    sleep: async (ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      now += ms;
      return Promise.resolve();
    },
  };
}

/** A server whose completions end as listed; the last outcome stays. */
function probe(...outcomes: readonly (Error | 'answer')[]) {
  let asked = 0;
  return {
    asked: () => asked,
    complete: async () => {
      const outcome = outcomes[Math.min(asked, outcomes.length - 1)];
      asked += 1;
      return outcome === 'answer' || outcome === undefined
        ? Promise.resolve()
        : Promise.reject(outcome);
    },
  };
}

const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

test('a server that loads its model is waited for', async () => {
  const server = probe(refused, new NoAnswerError('HTTP 503'), 'answer');
  await proveServing(server, 10, quickClock());
  expect(server.asked()).toBe(3);
});

test('a server that never answers is an error that says what the last attempt met', async () => {
  await expect(proveServing(probe(refused), 5, quickClock())).rejects.toMatchObject({
    message: 'no completion within 5 s',
    cause: refused,
  });
});

test.each([
  new RefusedKeyError('refuses the request (HTTP 401)'),
  new TypeError('x is not a function'),
])('%s is not waited out', async (error) => {
  const server = probe(error);
  await expect(proveServing(server, 1000, quickClock())).rejects.toBe(error);
  expect(server.asked()).toBe(1);
});

test('an interrupt ends the wait with its own reason', async () => {
  const interrupt = new AbortController();
  const server = {
    complete: async () => {
      interrupt.abort(new Error('interrupted'));
      return Promise.reject(refused);
    },
  };
  await expect(proveServing(server, 1000, quickClock(), interrupt.signal)).rejects.toThrow(
    'interrupted',
  );
});
