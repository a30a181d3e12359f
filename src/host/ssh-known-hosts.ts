import { createHash, createHmac } from 'node:crypto';

/** A host key as ssh sends it: its type and the whole key blob. */
export interface HostKey {
  readonly type: string;
  readonly blob: Buffer;
}

/** What the known_hosts files say about a key that a server showed. */
export type HostKeyVerdict =
  | { readonly state: 'known' }
  /** No line for this host, or only lines with keys of other types (`otherTypes`). */
  | { readonly state: 'unknown'; readonly otherTypes: readonly string[] }
  /** A line holds another key of this type: a reinstalled server or an attack. */
  | { readonly state: 'changed'; readonly place: string }
  | { readonly state: 'revoked'; readonly place: string };

/** Text of one known_hosts file. */
export interface KnownHostsFile {
  readonly path: string;
  readonly text: string;
}

interface KnownHostsLine {
  readonly marker: string | undefined;
  readonly patterns: readonly string[];
  readonly type: string;
  readonly blob: string;
  /** `path:line`, for messages. */
  readonly place: string;
}

/** Takes a key blob apart far enough to read its type (RFC 4253, 6.6). */
export function hostKeyOf(blob: Buffer): HostKey {
  const length = blob.length >= 4 ? blob.readUInt32BE(0) : 0;
  return { type: blob.subarray(4, 4 + length).toString('latin1'), blob };
}

/** `SHA256:…`, as ssh and ssh-keygen show a key. */
export function fingerprint(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/**
 * Checks a server's key against known_hosts files, as ssh does with StrictHostKeyChecking=yes.
 *
 * A port other than 22 is looked up as `[host]:port`; only when there is no line for that, lines
 * for the plain host may vouch for the key (they never make it "changed"). A revoked key is
 * refused wherever the line stands. Certificates (`@cert-authority`) are not used.
 *
 * @see sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"
 */
export function checkHostKey(
  files: readonly KnownHostsFile[],
  host: string,
  port: number,
  key: HostKey,
): HostKeyVerdict {
  const lines = files.flatMap(parseKnownHosts);
  const name = lookupName(host, port);
  const own = lines.filter((line) => matchesHost(line.patterns, name));
  const plain = name === host ? [] : lines.filter((line) => matchesHost(line.patterns, host));
  const blob = key.blob.toString('base64');

  const revoked = [...own, ...plain].find(
    (line) => line.marker === '@revoked' && line.blob === blob,
  );
  if (revoked !== undefined) return { state: 'revoked', place: revoked.place };

  const vouching = own.filter(({ marker }) => marker === undefined);
  if (vouching.some((line) => line.blob === blob)) return { state: 'known' };
  const sameType = vouching.find(({ type }) => type === key.type);
  if (sameType !== undefined) return { state: 'changed', place: sameType.place };
  if (vouching.length === 0) {
    const known = plain.some((line) => line.marker === undefined && line.blob === blob);
    if (known) return { state: 'known' };
  }
  return { state: 'unknown', otherTypes: [...new Set(vouching.map(({ type }) => type))] };
}

/** Key types for which known_hosts has a line for this host: the ones to ask the server for. */
export function knownKeyTypes(
  files: readonly KnownHostsFile[],
  host: string,
  port: number,
): string[] {
  const lines = files.flatMap(parseKnownHosts).filter(({ marker }) => marker === undefined);
  const own = lines.filter(({ patterns }) => matchesHost(patterns, lookupName(host, port)));
  const matching =
    own.length > 0 ? own : lines.filter(({ patterns }) => matchesHost(patterns, host));
  return [...new Set(matching.map(({ type }) => type))];
}

function lookupName(host: string, port: number): string {
  return port === 22 ? host : `[${host}]:${port}`;
}

function parseKnownHosts({ path, text }: KnownHostsFile): KnownHostsLine[] {
  return text.split('\n').flatMap((raw, index): KnownHostsLine[] => {
    const words = raw.trim().split(/\s+/);
    if (raw.trim() === '' || raw.trim().startsWith('#')) return [];
    const marker = words[0]?.startsWith('@') === true ? words.shift() : undefined;
    const [hosts, type, blob] = words;
    if (hosts === undefined || type === undefined || blob === undefined) return [];
    return [{ marker, patterns: hosts.split(','), type, blob, place: `${path}:${index + 1}` }];
  });
}

/** One `!pattern` that matches outweighs every pattern that does. */
function matchesHost(patterns: readonly string[], name: string): boolean {
  let found = false;
  for (const pattern of patterns) {
    if (pattern.startsWith('!')) {
      if (matchesPattern(pattern.slice(1), name)) return false;
    } else if (matchesPattern(pattern, name)) {
      found = true;
    }
  }
  return found;
}

function matchesPattern(pattern: string, name: string): boolean {
  const lower = name.toLowerCase();
  if (pattern.startsWith('|1|')) {
    const [, , salt, hash] = pattern.split('|');
    if (salt === undefined || hash === undefined) return false;
    const key = Buffer.from(salt, 'base64');
    return createHmac('sha1', key).update(lower).digest('base64') === hash;
  }
  const source = pattern
    .toLowerCase()
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`).test(lower);
}
