import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { ask, events, refused } from './http.ts';

const PROGRAM = new URL('../../../src/simulator/program.ts', import.meta.url).pathname;
const READY = 'The server is fired up and ready to roll!';

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  readonly base: string;
  output(): string;
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

const started: Started[] = [];

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}

/** Starts the simulator as a process in a group of its own. */
async function start(flags: string, port?: number): Promise<Started> {
  const used = port ?? (await freePort());
  const argv = `--model-path /models/m --port ${used} --sim-seed 1 ${flags}`.split(' ');
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, ...argv], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const server: Started = {
    child,
    port: used,
    base: `http://127.0.0.1:${used}`,
    output: () => output,
    exit: new Promise((resolve) => {
      child.on('exit', (code, signal) => {
        resolve({ code, signal });
      });
    }),
  };
  started.push(server);
  return server;
}

async function ready(server: Started): Promise<Started> {
  await expect.poll(() => server.output(), { timeout: 20_000 }).toContain(READY);
  return server;
}

afterEach(async () => {
  for (const { child, exit } of started.splice(0)) {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // The whole group has ended already.
    }
    await exit;
  }
});

const endless = (tokens = 100_000): object => ({
  text: 'Once upon a time',
  sampling_params: { max_new_tokens: tokens, ignore_eos: true },
  stream: true,
});

/** Names of the processes of a group, zombies left out. */
function groupOf(pid: number): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
        const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (Number(group) !== pid || state === 'Z') return [];
        return [readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0')[0] ?? ''];
      } catch {
        // It ended while it was looked at.
        return [];
      }
    });
}

describe('a start', () => {
  test('refuses connections, then answers 503, then 200', async () => {
    const server = await start('--sim-start-seconds 60 --speed 20');
    const seen: (number | 'refused')[] = [];
    while (seen.at(-1) !== 200) {
      const now = (await refused(server.port))
        ? 'refused'
        : (await ask(`${server.base}/health`)).status;
      if (seen.at(-1) !== now) seen.push(now);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(seen).toEqual(['refused', 503, 200]);
  });

  test('logs what a tuner looks for', async () => {
    const server = await ready(
      await start(
        '--speculative-algorithm NEXTN --mem-fraction-static 0.85 --sim-start-seconds 1 --speed 10',
      ),
    );
    expect(server.output()).toMatch(/server_args=\{'model_path': '\/models\/m'/);
    expect(server.output()).toMatch(/Load weight end\. elapsed=/);
    expect(server.output()).toMatch(/KV Cache is allocated\. dtype: torch\.bfloat16, #tokens: \d+/);
    expect(server.output()).toMatch(
      /Capture target verify CUDA graph begin\. backend=full, num_tokens_per_req=4, bs=\[1, 2,/,
    );
    expect(server.output()).toMatch(
      /max_running_requests was reduced from the requested 48 to \d+ \(per dp worker\)/,
    );
    expect(server.output()).toMatch(
      /max_total_num_tokens=\d+, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=\d+/,
    );
  });

  test.each([
    {
      flags: '--no-such-flag 1',
      code: 2,
      last: 'sglang serve: error: unrecognized arguments: --no-such-flag 1',
    },
    {
      flags: '--speculative-algorithm NEXTN --speculative-num-draft-tokens 4',
      code: 1,
      last: 'AssertionError',
    },
    { flags: '--sim-exit-at load --sim-exit-code 0', code: 0, last: '' },
    { flags: '--sim-exit-at capture --sim-exit-code 7', code: 7, last: '' },
  ])('with $flags exits $code', async ({ flags, code, last }) => {
    const server = await start(`${flags} --sim-start-seconds 1 --speed 10`);
    expect(await server.exit).toEqual({ code, signal: null });
    if (last !== '') expect(server.output().trimEnd().split('\n').at(-1)).toBe(last);
  });

  test.each([
    {
      flags: '--mem-fraction-static 0.5',
      text: 'Loaded weights leave no GPU memory for the KV cache',
    },
    { flags: '--mem-fraction-static 0.96', text: 'Capture cuda graph failed: CUDA out of memory' },
    { flags: '--attention-backend fa3', text: 'FlashAttention v3 Backend requires' },
    { flags: '--sim-oom-at load', text: 'torch.OutOfMemoryError: CUDA out of memory' },
  ])('with $flags kills itself after a traceback of the scheduler', async ({ flags, text }) => {
    const server = await start(`${flags} --sim-start-seconds 1 --speed 10`);
    expect(await server.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(server.output()).toContain('Scheduler hit an exception: Traceback');
    expect(server.output()).toContain(text);
    expect(server.output()).toContain('Received sigquit from a child process.');
  });

  test('that stalls prints nothing more', async () => {
    const server = await start('--sim-stall-at kv-cache --sim-start-seconds 1 --speed 10');
    await expect.poll(() => server.output(), { timeout: 10_000 }).toContain('Load weight end');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.output().trimEnd().split('\n').at(-1)).toContain('Load weight end');
  });
});

describe('signals', () => {
  test('SIGTERM drains: running requests end, new ones are still taken, then exit 0', async () => {
    const server = await ready(await start('--sim-start-seconds 1 --speed 20'));
    let stream = '';
    const running = ask(`${server.base}/generate`, {
      method: 'POST',
      body: endless(3000),
      onChunk: (text) => (stream += text),
    });
    await expect.poll(() => stream).toContain('data: ');
    server.child.kill('SIGTERM');
    await expect.poll(() => server.output()).toContain('SIGTERM received');
    expect((await ask(`${server.base}/health`)).status).toBe(503);
    const late = await ask(`${server.base}/generate`, {
      method: 'POST',
      body: { ...endless(4), stream: false },
    });
    expect(late.status).toBe(200);
    expect(events((await running).body).at(-1)).toBe('[DONE]');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(groupOf(server.child.pid ?? 0)).toEqual([]);
  });

  test('an early SIGTERM leaves children behind', async () => {
    const server = await start('--sim-start-seconds 100 --speed 1');
    await expect.poll(() => server.output(), { timeout: 20_000 }).toContain('Load weight begin');
    server.child.kill('SIGTERM');
    expect(await server.exit).toEqual({ code: null, signal: 'SIGTERM' });
    expect(groupOf(server.child.pid ?? 0)).toHaveLength(2);
  });

  test('SIGKILL of the main process takes the children along', async () => {
    const server = await ready(await start('--sim-start-seconds 1 --speed 10'));
    expect(groupOf(server.child.pid ?? 0)).toContain('sglang::scheduler');
    server.child.kill('SIGKILL');
    await server.exit;
    await expect.poll(() => groupOf(server.child.pid ?? 0)).toEqual([]);
  });

  test('a leftover ignores SIGTERM and stays when the server ends', async () => {
    const server = await ready(await start('--sim-leftover --sim-start-seconds 1 --speed 10'));
    server.child.kill('SIGINT');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    process.kill(-(server.child.pid ?? 0), 'SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(groupOf(server.child.pid ?? 0)).toContain('sglang::scheduler_TP1');
  });
});

describe('a taken port', () => {
  test('held by another SGLang: claims to be ready, then kills itself', async () => {
    const first = await ready(await start('--sim-start-seconds 1 --speed 10'));
    const second = await start('--sim-start-seconds 1 --speed 10', first.port);
    expect(await second.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(second.output()).toContain('[Errno 98] error while attempting to bind on address');
    expect(second.output()).toContain(READY);
  });

  test('held by a silent listener: hangs and ignores SIGTERM', async () => {
    const listener = createServer(() => undefined);
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as AddressInfo;
    const server = await start('--sim-start-seconds 1 --speed 10', port);
    await expect.poll(() => server.output(), { timeout: 20_000 }).toContain('[Errno 98]');
    server.child.kill('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(server.child.exitCode).toBeNull();
    expect(server.output()).not.toContain(READY);
    listener.close();
  });
});

describe('failures under load', () => {
  const post = (server: Started, body: object): Promise<string> =>
    ask(`${server.base}/generate`, { method: 'POST', body }).then(
      (reply) => reply.body,
      () => 'broken',
    );

  test('a killed scheduler breaks the streams and then the server', async () => {
    const server = await ready(await start('--sim-start-seconds 1 --speed 20'));
    const stream = post(server, endless());
    await expect
      .poll(() => server.output())
      .toContain('POST /generate')
      .catch(() => undefined);
    process.kill(
      Number(/.*/.exec(String(childNamed(server, 'sglang::scheduler')))?.[0]),
      'SIGKILL',
    );
    expect(await stream).toBe('broken');
    expect(await server.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(server.output()).toMatch(/Subprocess scheduler_0 \(pid=\d+\) crashed with exit code -9/);
  });

  test.each([
    { flags: '--sim-exit-at-request 2 --sim-exit-code 3', exit: { code: 3, signal: null } },
    { flags: '--sim-crash-at-request 2', exit: { code: null, signal: 'SIGKILL' } },
    { flags: '--sim-oom-at-request 2', exit: { code: null, signal: 'SIGKILL' } },
    { flags: '--sim-oom-above 1', exit: { code: null, signal: 'SIGKILL' } },
  ])('$flags ends the server at the second request', async ({ flags, exit }) => {
    const server = await ready(await start(`${flags} --sim-start-seconds 1 --speed 20`));
    const first = post(server, endless());
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.child.exitCode).toBeNull();
    const second = post(server, endless());
    expect(await server.exit).toEqual(exit);
    expect(await Promise.all([first, second])).toEqual(['broken', 'broken']);
  });

  test('a restart behind the client drops its stream and comes back', async () => {
    const server = await ready(
      await start('--sim-restart-at-request 1 --sim-start-seconds 1 --speed 20'),
    );
    expect(await post(server, endless())).toBe('broken');
    await expect
      .poll(
        () =>
          ask(`${server.base}/health`).then(
            (reply) => reply.status,
            () => 0,
          ),
        { timeout: 5000 },
      )
      .toBe(200);
    expect(await post(server, { ...endless(4), stream: false })).toContain('"completion_tokens":4');
  });
});

/** Process id of a child of the server's group by its name. */
function childNamed(server: Started, name: string): number {
  const found = readdirSync('/proc').find((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const group = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2];
      const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0')[0];
      return Number(group) === server.child.pid && command === name;
    } catch {
      return false;
    }
  });
  return Number(found);
}
