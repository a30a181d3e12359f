import { expect, test } from 'vitest';
import type { RunningServer, ServerExit } from '../../../src/server/target.ts';
import { failureOf } from '../../../src/study/launch-failure.ts';

/** A server that ended like this, with nothing in its log. */
function ended(exit: ServerExit): RunningServer {
  return {
    pid: 1,
    startedAtMs: 0,
    exit: () => exit,
    exited: Promise.resolve(exit),
    logTail: () => [],
    logBytes: () => 0,
    stop: async () => Promise.resolve({ clean: true, seconds: 0, survivors: [] }),
    [Symbol.asyncDispose]: async () => Promise.resolve(),
  };
}

test('a unit that was started anew, by a reboot or a restore, is the machine’s doing', () => {
  const failure = failureOf(ended({ code: null, signal: null, requested: false }), 'serving');
  expect(failure).toMatchObject({ kind: 'environment' });
  expect(failure.message).toContain('reboot');
});

test('a server that a signal ended is judged by its end', () => {
  const killed = ended({ code: null, signal: 'SIGKILL', requested: false });
  expect(failureOf(killed, 'serving').message).not.toContain('reboot');
});
