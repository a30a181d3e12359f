import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { binProfile } from '../../../src/report/profile-binning.ts';
import { LogLoadReader, type LogPeriod } from '../../../src/report/profile-log.ts';
import { loadOfRange, loadOfSnapshots } from '../../../src/report/profile-prometheus.ts';
import type { CountWhat } from '../../../src/report/profile-shares.ts';
import { withProfile } from '../../../src/report/profile-study-file.ts';
import { profileReport } from '../../../src/report/profile-text.ts';

/** A decode line as SGLang 0.5.23 prints it. */
function decode(time: string, running: number, queued = 0, rank = ' TP0'): string {
  return `[2026-11-30 ${time}${rank}] Decode batch, #running-req: ${running}, #token: 106, token usage: 0.01, cpu graph: False, gen throughput (token/s): 14.85, #queue-req: ${queued}`;
}

function read(lines: readonly string[], what?: CountWhat, period?: LogPeriod) {
  const reader = new LogLoadReader(what, period);
  for (const line of lines) reader.line(line);
  return reader.result();
}

describe('a log', () => {
  test('a line stands for the time since the one before', () => {
    const load = read([decode('18:00:00', 1), decode('18:00:04', 2), decode('18:00:05', 1)]);
    expect(load.secondsByConcurrency).toEqual(
      new Map([
        [1, 2],
        [2, 4],
      ]),
    );
  });

  test('lines of one second share the time to it', () => {
    const load = read([decode('18:00:00', 1), decode('18:00:02', 3), decode('18:00:02', 5)]);
    expect(load.secondsByConcurrency).toEqual(
      new Map([
        [1, 1],
        [3, 1],
        [5, 1],
      ]),
    );
  });

  test('more than ten seconds without a line were idle', () => {
    const load = read([decode('18:00:00', 1), decode('18:10:00', 1)]);
    expect([load.busySeconds, load.idleSeconds]).toEqual([11, 590]);
  });

  test('requests that wait in the server are in flight too, unless only running ones count', () => {
    const lines = [decode('18:00:00', 8, 4)];
    expect([...read(lines).secondsByConcurrency.keys()]).toEqual([12]);
    expect([...read(lines, 'running').secondsByConcurrency.keys()]).toEqual([8]);
  });

  test('data-parallel ranks are added up, tensor-parallel ones are not', () => {
    const both = [decode('18:00:00', 3, 0, ' DP0 TP0'), decode('18:00:01', 4, 0, ' DP1 TP0')];
    expect([...read(both).secondsByConcurrency.keys()]).toEqual([3, 7]);
    const one = [decode('18:00:00', 3, 0, ' TP0'), decode('18:00:01', 3, 0, ' TP1')];
    expect([...read(one).secondsByConcurrency.keys()]).toEqual([3]);
  });

  test('of a journal is read with the host and unit in front', () => {
    const load = read([`Nov 30 18:00:00 gpu-1 python3[812]: ${decode('18:00:00', 6)}`]);
    expect([...load.secondsByConcurrency.keys()]).toEqual([6]);
  });

  test('of a hybrid model is read, whose line has other figures', () => {
    const line =
      '[2026-11-30 18:00:00 TP0] Decode batch, #running-req: 9, #full token: 100, full token usage: 0.01, mamba num: 9, mamba usage: 0.1, accept len: 1.80, cuda graph: True, gen throughput (token/s): 14.85, #queue-req: 0';
    expect([...read([line]).secondsByConcurrency.keys()]).toEqual([9]);
  });

  test('is read from `since` on and before `until`', () => {
    const lines = [decode('17:59:59', 1), decode('18:00:00', 2), decode('19:00:00', 3)];
    const load = read(lines, 'in-flight', { since: '2026-11-30 18:00', until: '2026-11-30 19' });
    expect([...load.secondsByConcurrency.keys()]).toEqual([2]);
  });

  test('counts the requests that arrived', () => {
    const post = 'INFO:     127.0.0.1:50001 - "POST /v1/chat/completions HTTP/1.1" 200 OK';
    const get = 'INFO:     127.0.0.1:50001 - "GET /health HTTP/1.1" 200 OK';
    expect(read([post, get, post, decode('18:00:00', 1)]).requests).toBe(2);
  });

  test('has shares that equal those computed one second at a time', () => {
    const counts = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(counts, (perSecond) => {
        const two = (value: number) => String(value).padStart(2, '0');
        const lines = perSecond.map((n, s) =>
          decode(`18:${two(Math.floor(s / 60))}:${two(s % 60)}`, n),
        );
        const expected = new Map<number, number>();
        for (const n of perSecond) expected.set(n, (expected.get(n) ?? 0) + 1);
        expect([...read(lines).secondsByConcurrency]).toEqual(
          [...expected].sort(([a], [b]) => a - b),
        );
      }),
    );
  });
});

describe('metrics', () => {
  const text = (running: number, queued: number, requests: number, tokens: number) =>
    [0, 1]
      .map(
        (rank) => `# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="m",tp_rank="${rank}"} ${running}.0
sglang:num_queue_reqs{model_name="m",tp_rank="${rank}"} ${queued}.0
sglang:num_requests_total{model_name="m"} ${requests}.0
sglang:prompt_tokens_total{model_name="m"} ${tokens}.0
sglang:generation_tokens_total{model_name="m"} ${tokens / 2}.0`,
      )
      .join('\n');

  test('snapshots weigh their seconds; ranks of one model are not added up', () => {
    const load = loadOfSnapshots([
      { text: text(4, 0, 10, 1000), seconds: 1 },
      { text: text(6, 2, 20, 9000), seconds: 3 },
      { text: text(0, 0, 20, 9000), seconds: 2 },
    ]);
    expect(load.secondsByConcurrency).toEqual(
      new Map([
        [4, 1],
        [8, 3],
      ]),
    );
    expect(load.idleSeconds).toBe(2);
    expect([load.requests, load.meanInputTokens, load.meanOutputTokens]).toEqual([10, 800, 400]);
  });

  test('a text without the gauge is refused with what to do', () => {
    expect(() => loadOfSnapshots([{ text: 'vllm:num_requests_running 1', seconds: 1 }])).toThrow(
      /no sglang:num_running_reqs/,
    );
  });

  test('a range query’s samples stand for the time to the next; instances are added up', () => {
    const series = (instance: string, values: readonly (readonly [number, string])[]) => ({
      metric: { __name__: 'sglang:num_running_reqs', instance },
      values,
    });
    const load = loadOfRange({
      status: 'success',
      data: {
        resultType: 'matrix',
        result: [
          series('a', [
            [100, '2'],
            [115, '0'],
            [130, '1'],
          ]),
          series('b', [
            [100, '3'],
            [115, '0'],
            [130, '0'],
          ]),
        ],
      },
    });
    expect(load.secondsByConcurrency).toEqual(
      new Map([
        [1, 15],
        [5, 15],
      ]),
    );
    expect(load.idleSeconds).toBe(15);
  });

  test('other JSON is refused', () => {
    expect(() => loadOfRange({ data: 1 })).toThrow(/not the answer of a Prometheus range query/);
  });
});

describe('binning', () => {
  test('goes to the nearest power of two, and small shares join their neighbour', () => {
    const seconds = new Map([
      [1, 50],
      [3, 30],
      [7, 19],
      [60, 1],
    ]);
    expect(binProfile(seconds)).toEqual(
      new Map([
        [1, 0.5],
        [4, 0.3],
        [8, 0.2],
      ]),
    );
  });

  test('of nothing is empty', () => {
    expect(binProfile(new Map())).toEqual(new Map());
  });

  test('always gives at most six shares that sum to exactly 1 in thousandths', () => {
    const key = fc.integer({ min: 1, max: 2000 });
    const value = fc.double({ min: 0.001, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 60 }), (entries) => {
        const shares = [...binProfile(new Map(entries)).values()];
        expect(shares.length).toBeLessThanOrEqual(6);
        expect(shares.reduce((sum, share) => sum + Math.round(share * 1000), 0)).toBe(1000);
      }),
    );
  });

  test('an all-day load of one concurrency prints one line of 100 %', () => {
    const report = profileReport(read([decode('18:00:00', 16)]));
    expect(report).toContain('16    100 %  ##############################');
    expect(report).toContain('profile: { 16: 1 }');
  });
});

describe('a study file', () => {
  const profile = new Map([
    [1, 0.6],
    [8, 0.4],
  ]);

  test('keeps every other byte when its profile is replaced', () => {
    const text =
      '# top\nstudy: x   # name\nprofile: { 1: 0.5, 4: 0.5 } # old\n\nparameters:\n  a: [1,   2]\n';
    expect(withProfile(text, profile)).toBe(
      '# top\nstudy: x   # name\nprofile: { 1: 0.6, 8: 0.4 } # old\n\nparameters:\n  a: [1,   2]\n',
    );
  });

  test('keeps comments inside a block profile, and its indent', () => {
    const text = 'profile:\n  # measured in May\n  1: 0.5 # agents\n  4: 0.5 # reviews\nstudy: x\n';
    expect(withProfile(text, profile)).toBe(
      'profile:\n  # measured in May\n  # reviews\n  1: 0.6 # agents\n  8: 0.4\nstudy: x\n',
    );
  });

  test('gets a profile at its end when it had none', () => {
    expect(withProfile('study: x\n', profile)).toBe('study: x\n\nprofile: { 1: 0.6, 8: 0.4 }\n');
  });
});
