import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { UserError } from '../errors.ts';

/**
 * Throws UserError unless the base URL leads to this machine: a server that is started here would
 * never answer there, and whoever does answer would be measured in its place.
 */
export async function requireOwnAddress(baseUrl: string): Promise<void> {
  const hostname = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '');
  const addresses = await addressesOf(hostname, baseUrl);
  const elsewhere = addresses.filter((address) => !isOwn(address));
  if (elsewhere.length === 0) return;
  throw new UserError(
    `target.base_url ${baseUrl} is not on this machine (${elsewhere.join(', ')}), but the server is started here`,
    { hint: 'give http://127.0.0.1 and the port, or name the other machine with target.ssh' },
  );
}

async function addressesOf(hostname: string, baseUrl: string): Promise<readonly string[]> {
  try {
    return (await lookup(hostname, { all: true })).map(({ address }) => address);
  } catch (cause) {
    throw new UserError(`the host of target.base_url ${baseUrl} is not known`, { cause });
  }
}

function isOwn(address: string): boolean {
  if (/^127\.|^::1$|^0\.0\.0\.0$|^::$/.test(address)) return true;
  return Object.values(networkInterfaces()).some((entries) =>
    entries?.some((entry) => entry.address === address),
  );
}
