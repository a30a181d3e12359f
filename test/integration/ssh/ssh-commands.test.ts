import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSshHost, type SshHost } from '../../../src/host/ssh-host.ts';
import { bootContainer, type Container } from '../../container/boot-container.ts';
import { describeContainer } from '../../container/describe-container.ts';

describeContainer('commands over ssh', () => {
  let box: Container;
  let host: SshHost;

  beforeAll(async () => {
    box = await bootContainer();
    host = await openSshHost('box', { configPath: box.sshConfigPath });
  }, 120_000);

  afterAll(async () => {
    await host[Symbol.asyncDispose]();
    await box[Symbol.asyncDispose]();
  });

  test('hostile words arrive as they are and run nothing', async () => {
    const words = [
      '$(touch /pwned)',
      '`id`',
      "it's",
      '"',
      '\\',
      '; reboot',
      'a\nb',
      '*',
      '~',
      '!!',
      'ü',
      '',
    ];
    const result = await host.run({
      argv: ['python3', '-c', 'import sys, json; print(json.dumps(sys.argv[1:]))', ...words],
      timeoutMs: 10_000,
    });
    expect(JSON.parse(result.stdout)).toEqual(words);
    expect(box.inside('sh', '-c', 'ls /')).not.toContain('pwned');
  });

  test('a login shell that is no POSIX shell changes nothing', async () => {
    box.put(
      '/usr/local/bin/odd-shell',
      '#!/bin/sh\n[ "$1" = -c ] && shift\nexec sh -f -c "$1"\n',
      0o755,
    );
    box.inside('usermod', '--shell', '/usr/local/bin/odd-shell', 'root');
    const result = await host.run({ argv: ['echo', "a'b $x"], timeoutMs: 10_000 });
    box.inside('usermod', '--shell', '/bin/bash', 'root');
    expect(result.stdout).toBe("a'b $x\n");
  });

  test('exit code, both streams and input pass', async () => {
    const result = await host.run({
      argv: ['sh', '-c', 'cat; echo problem >&2; exit 3'],
      timeoutMs: 10_000,
      input: 'words\n',
    });
    expect(result).toEqual({
      exitCode: 3,
      signal: null,
      timedOut: false,
      stdout: 'words\n',
      stderr: 'problem\n',
      truncated: false,
    });
  });

  test('a command that a signal ended says which', async () => {
    const result = await host.run({ argv: ['sh', '-c', 'kill -TERM $$'], timeoutMs: 10_000 });
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGTERM', timedOut: false });
  });

  test('an unknown program is exit code 127', async () => {
    expect(await host.run({ argv: ['no-such-program'], timeoutMs: 10_000 })).toMatchObject({
      exitCode: 127,
    });
  });

  test('a given environment is complete', async () => {
    const result = await host.run({
      argv: ['/usr/bin/env'],
      timeoutMs: 10_000,
      environment: { NAME: 'a "b" $c' },
    });
    expect(result.stdout).toContain('NAME=a "b" $c\n');
    expect(result.stdout).not.toContain('PATH=');
  });

  test('at its limit a command ends together with a child that left its group', async () => {
    const result = await host.run({
      argv: ['sh', '-c', 'setsid sleep 4711 & trap "" TERM; sleep 4712; sleep 4713'],
      timeoutMs: 1000,
    });
    expect(result).toMatchObject({ timedOut: true, exitCode: null });
    expect(() => box.inside('pgrep', '-f', 'sleep 471')).toThrow();
  });

  test('output beyond the limit is dropped and said so', async () => {
    const result = await host.run({
      argv: ['sh', '-c', 'head -c 100000 /dev/zero | tr "\\0" x'],
      timeoutMs: 10_000,
      maxOutputBytes: 100,
    });
    expect(result.stdout).toHaveLength(100);
    expect(result.truncated).toBe(true);
  });

  test('a text file is replaced as a whole, its folder made, with its mode', async () => {
    await host.writeText('/var/lib/some/where/file', 'one', { mode: 0o600 });
    await host.writeText('/var/lib/some/where/file', 'two', { mode: 0o600 });
    expect(await host.readText('/var/lib/some/where/file')).toBe('two');
    expect(box.inside('stat', '-c', '%a', '/var/lib/some/where/file').trim()).toBe('600');
    expect(box.inside('ls', '/var/lib/some/where').trim()).toBe('file');
  });

  test('a file that does not exist is undefined', async () => {
    expect(await host.readText('/no/such/file')).toBeUndefined();
  });

  test('a file of /proc, whose size is zero, is read whole', async () => {
    expect(await host.readText('/proc/1/cmdline')).toContain('systemd');
  });

  test('a copied file is the same byte for byte, there and back', async () => {
    const local = join(box.folder, 'local');
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 251));
    writeFileSync(local, bytes);
    await host.putFile(local, '/opt/copy/file.bin', { mode: 0o755 });
    await host.getFile('/opt/copy/file.bin', `${local}.back`);
    const { readFileSync } = await import('node:fs');
    expect(readFileSync(`${local}.back`).equals(bytes)).toBe(true);
    expect(box.inside('stat', '-c', '%a', '/opt/copy/file.bin').trim()).toBe('755');
  });

  test('a full disk is named and leaves no half file', async () => {
    box.inside('sh', '-c', 'mkdir -p /small && mount -t tmpfs -o size=64k tmpfs /small');
    const local = join(box.folder, 'large');
    writeFileSync(local, Buffer.alloc(1_000_000, 1));
    await expect(host.putFile(local, '/small/file')).rejects.toThrow(/No space left/);
    expect(box.inside('ls', '/small').trim()).toBe('');
  });

  test('a read-only disk is named', async () => {
    box.inside('sh', '-c', 'mkdir -p /fixed && mount -t tmpfs -o ro tmpfs /fixed');
    await expect(host.writeText('/fixed/file', 'x')).rejects.toThrow(/Read-only file system/);
  });

  test('a forwarded port reaches a server that listens there', async () => {
    const server = createServer((_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const forwarded = await host.forwardPort(address.port);
    const answer = await fetch(`http://127.0.0.1:${forwarded.port}/`, {
      headers: { connection: 'close' },
    });
    expect(await answer.text()).toBe('hello');
    await forwarded[Symbol.asyncDispose]();
    server.close();
  });

  test('many commands at once share few channels of one connection', async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, async (_, i) =>
        host.run({ argv: ['echo', String(i)], timeoutMs: 20_000 }),
      ),
    );
    expect(results.map(({ stdout }) => stdout.trim())).toEqual(
      Array.from({ length: 20 }, (_, i) => String(i)),
    );
  });

  test('a command that ends at once is never taken for a broken link', async () => {
    for (let i = 0; i < 60; i += 1) {
      const results = await Promise.all(
        Array.from({ length: 4 }, async () => host.run({ argv: ['true'], timeoutMs: 20_000 })),
      );
      expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
    }
  });

  test('ending the connection leaves no command that outlives its limit (E2)', async () => {
    const own = await openSshHost('box', { configPath: box.sshConfigPath, firstPatienceMs: 5000 });
    const running = own.run({ argv: ['sleep', '4720'], timeoutMs: 2000 }).catch(() => 'gone');
    await sleep(500);
    await own[Symbol.asyncDispose]();
    await running;
    await expect
      .poll(() => box.inside('sh', '-c', 'pgrep -fx "sleep 4720" || true').trim(), {
        timeout: 15_000,
      })
      .toBe('');
  });
});
