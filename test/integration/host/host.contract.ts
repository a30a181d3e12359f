import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import type { Host } from '../../../src/host/host.ts';

/** What every host promises. `folder` is an empty folder on that host, removed after each test. */
export function hostContract(
  name: string,
  host: Host,
  folders: {
    readonly make: () => Promise<string>;
    readonly remove: (path: string) => Promise<void>;
  },
): void {
  describe(name, () => {
    let folder: string;
    beforeEach(async () => {
      folder = await folders.make();
    });
    afterEach(() => folders.remove(folder));

    test('a command gives exit code and both streams', async () => {
      const argv = ['sh', '-c', 'echo out; echo err >&2; exit 3'];
      expect(await host.run({ argv, timeoutMs: 20_000 })).toEqual({
        exitCode: 3,
        signal: null,
        timedOut: false,
        stdout: 'out\n',
        stderr: 'err\n',
        truncated: false,
      });
    });

    test('arguments reach the program as they are, without a shell', async () => {
      const argv = ['printf', '%s|', 'a b', '$HOME', `"'`, '*'];
      expect((await host.run({ argv, timeoutMs: 20_000 })).stdout).toBe(`a b|$HOME|"'|*|`);
    });

    test('input is given on standard input', async () => {
      const result = await host.run({ argv: ['cat'], input: 'a\nb\0ü', timeoutMs: 20_000 });
      expect(result.stdout).toBe('a\nb\0ü');
    });

    test('a command without input sees an empty one', async () => {
      expect((await host.run({ argv: ['cat'], timeoutMs: 20_000 })).exitCode).toBe(0);
    });

    test('a given environment is the whole environment', async () => {
      const environment = { ONLY: 'this' };
      const result = await host.run({ argv: ['/usr/bin/env'], environment, timeoutMs: 20_000 });
      expect(result.stdout).toBe('ONLY=this\n');
    });

    test('a program that does not exist is exit code 127', async () => {
      const result = await host.run({ argv: ['no-such-program'], timeoutMs: 20_000 });
      expect(result).toMatchObject({ exitCode: 127, signal: null });
    });

    test('a command that takes too long is killed, with its children', async () => {
      const pidFile = `${folder}/pid`;
      const argv = ['sh', '-c', `sleep 600 & echo $! > ${pidFile}; wait`];
      const result = await host.run({ argv, timeoutMs: 1000 });
      expect(result).toMatchObject({ timedOut: true, exitCode: null });
      const pid = (await host.readText(pidFile))?.trim() ?? '';
      const state = await host.run({
        argv: ['sh', '-c', `grep -s ^State /proc/${pid}/status || echo gone`],
        timeoutMs: 20_000,
      });
      expect(state.stdout).toMatch(/gone|zombie/);
    });

    test('a child left in the background does not hold the command up', async () => {
      const argv = ['sh', '-c', 'sleep 600 & echo $!'];
      const result = await host.run({ argv, timeoutMs: 25_000 });
      await host.run({ argv: ['kill', '-9', result.stdout.trim()], timeoutMs: 20_000 });
      expect(result).toMatchObject({ exitCode: 0, timedOut: false });
    });

    test('output beyond the limit is dropped, not kept', async () => {
      const argv = ['head', '-c', '3000000', '/dev/zero'];
      const result = await host.run({ argv, timeoutMs: 20_000, maxOutputBytes: 1000 });
      expect(result).toMatchObject({ exitCode: 0, truncated: true });
      expect(result.stdout).toHaveLength(1000);
    });

    test('a written file is read back, and its folders are made', async () => {
      await host.writeText(`${folder}/a/b.conf`, 'ü\n');
      expect(await host.readText(`${folder}/a/b.conf`)).toBe('ü\n');
    });

    test('a written file has the given mode', async () => {
      await host.writeText(`${folder}/key`, 'x', { mode: 0o600 });
      const result = await host.run({
        argv: ['stat', '-c', '%a', `${folder}/key`],
        timeoutMs: 20_000,
      });
      expect(result.stdout).toBe('600\n');
    });

    test('a file that does not exist reads as undefined', async () => {
      expect(await host.readText(`${folder}/nothing`)).toBeUndefined();
    });

    test('a path that cannot be written is an error of the user that names it', async () => {
      await host.writeText(`${folder}/file`, 'x');
      const writing = host.writeText(`${folder}/file/below`, 'x');
      await expect(writing).rejects.toThrow(UserError);
      await expect(writing).rejects.toThrow(`${folder}/file/below`);
    });
  });
}
