import { expect, test } from 'vitest';
import { requireOwnAddress } from '../../../src/server/own-address.ts';

test.each(['http://127.0.0.1:30000', 'http://localhost:30000', 'http://[::1]:30000'])(
  'a server that is started here may serve on %s',
  async (baseUrl) => {
    await expect(requireOwnAddress(baseUrl)).resolves.toBeUndefined();
  },
);

test('a base_url on another host is refused for a server that is started here', async () => {
  // TEST-NET-1: belongs to nobody (RFC 5737).
  await expect(requireOwnAddress('http://192.0.2.7:30000')).rejects.toThrow(
    'target.base_url http://192.0.2.7:30000 is not on this machine (192.0.2.7)',
  );
});
