import { expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { isNetworkFailure, NoAnswerError } from '../../../src/load/network-failure.ts';

test.each([
  ['a refused connection', Object.assign(new Error('no'), { code: 'ECONNREFUSED' })],
  [
    'a socket that the other side closed',
    Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }),
  ],
  [
    'one below another error',
    new Error('x', { cause: Object.assign(new Error('y'), { code: 'ECONNRESET' }) }),
  ],
  ['a timeout', new DOMException('late', 'TimeoutError')],
  ['an answer that is an error', new NoAnswerError('a test completion failed with HTTP 503')],
])('%s is a failure of the server', (_, error) => {
  expect(isNetworkFailure(error)).toBe(true);
});

test.each([
  ['a fault of this program', new TypeError('x is not a function')],
  ['a prompt file that cannot be read', new UserError('cannot read the prompt file')],
  ['a file limit', new UserError('the limit of open files is too low')],
])('%s says nothing about the server', (_, error) => {
  expect(isNetworkFailure(error)).toBe(false);
});
