import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  checkHostKey,
  fingerprint,
  hostKeyOf,
  knownKeyTypes,
} from '../../../src/host/ssh-known-hosts.ts';

function keyOf(type: string, seed: string): { type: string; blob: Buffer; text: string } {
  const name = Buffer.from(type);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(name.length);
  const blob = Buffer.concat([length, name, Buffer.from(seed)]);
  return { type, blob, text: `${type} ${blob.toString('base64')}` };
}

const right = keyOf('ssh-ed25519', 'right');
const wrong = keyOf('ssh-ed25519', 'wrong');
const rsa = keyOf('ssh-rsa', 'rsa');

function hashed(name: string): string {
  const salt = Buffer.from('0123456789abcdefghij');
  const hash = createHmac('sha1', salt).update(name).digest('base64');
  return `|1|${salt.toString('base64')}|${hash}`;
}

function verdict(text: string, host = 'gpu-1', port = 22) {
  return checkHostKey([{ path: 'known_hosts', text }], host, port, right).state;
}

test.each([
  { line: `gpu-1 ${right.text}`, want: 'known' },
  { line: `other,gpu-1 ${right.text} comment`, want: 'known' },
  { line: `GPU-1 ${right.text}`, want: 'known' },
  { line: `gpu-* ${right.text}`, want: 'known' },
  { line: `gpu-?,!gpu-1 ${right.text}`, want: 'unknown' },
  { line: `${hashed('gpu-1')} ${right.text}`, want: 'known' },
  { line: `${hashed('gpu-2')} ${right.text}`, want: 'unknown' },
  { line: `# gpu-1 ${right.text}`, want: 'unknown' },
  { line: '', want: 'unknown' },
  { line: `gpu-1 ${wrong.text}`, want: 'changed' },
  { line: `gpu-1 ${wrong.text}\ngpu-1 ${right.text}`, want: 'known' },
  { line: `gpu-1 ${rsa.text}`, want: 'unknown' },
  { line: `@revoked * ${right.text}\ngpu-1 ${right.text}`, want: 'revoked' },
  { line: `@cert-authority * ${right.text}`, want: 'unknown' },
  { line: `gpuX1 ${right.text}`, want: 'unknown' },
])('known_hosts "$line" makes the key of gpu-1 $want', ({ line, want }) => {
  expect(verdict(line)).toBe(want);
});

test.each([
  { line: `[gpu-1]:2222 ${right.text}`, want: 'known' },
  { line: `${hashed('[gpu-1]:2222')} ${right.text}`, want: 'known' },
  { line: `gpu-1 ${right.text}`, want: 'known' },
  { line: `gpu-1 ${wrong.text}`, want: 'unknown' },
  { line: `[gpu-1]:2222 ${wrong.text}\ngpu-1 ${right.text}`, want: 'changed' },
  { line: `[gpu-1]:2223 ${right.text}`, want: 'unknown' },
])('at port 2222, "$line" makes the key $want', ({ line, want }) => {
  expect(verdict(line, 'gpu-1', 2222)).toBe(want);
});

test('a changed key names the line that holds the other one', () => {
  const text = `# first\ngpu-1 ${wrong.text}`;
  expect(checkHostKey([{ path: '/h/known_hosts', text }], 'gpu-1', 22, right)).toEqual({
    state: 'changed',
    place: '/h/known_hosts:2',
  });
});

test('the key types to ask for are those of the lines of this host', () => {
  const text = `gpu-1 ${rsa.text}\ngpu-2 ${right.text}`;
  expect(knownKeyTypes([{ path: 'k', text }], 'gpu-1', 22)).toEqual(['ssh-rsa']);
});

test('the type is read from the key itself, and a broken one has none', () => {
  expect(hostKeyOf(right.blob).type).toBe('ssh-ed25519');
  expect(hostKeyOf(Buffer.from([0])).type).toBe('');
});

test('a fingerprint is the one that ssh-keygen prints', () => {
  const blob = Buffer.from(
    'AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl',
    'base64',
  );
  expect(fingerprint(blob)).toBe('SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU');
});
