import { expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { isNetworkFailure } from '../../../src/study/network-failure.ts';

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
  ['what is told to users', new UserError('the server refuses')],
])('%s is a failure of the server', (_, error) => {
  expect(isNetworkFailure(error)).toBe(true);
});

test('a fault of this program is none', () => {
  expect(isNetworkFailure(new TypeError('x is not a function'))).toBe(false);
});
