import { describe, expect, test } from 'vitest';
import type { Assignment } from '../../../src/search-space/assignment.ts';
import { classifyFailure } from '../../../src/sglang/failure-causes.ts';
import { inferFailure, type SeenFailure } from '../../../src/sglang/infer-failures.ts';

type Launch = (assignment: Assignment) => string | undefined;

/** Sweeps a list with a server that prints `launch`'s text when it dies; counts launches. */
function sweep(candidates: readonly Assignment[], launch: Launch) {
  const failures: SeenFailure[] = [];
  const started: Assignment[] = [];
  let inferred = 0;
  for (const [trial, assignment] of candidates.entries()) {
    if (inferFailure(assignment, failures, started) !== undefined) {
      inferred += 1;
      continue;
    }
    const line = launch(assignment);
    if (line === undefined) {
      started.push(assignment);
      continue;
    }
    const exit = { code: null, signal: 'SIGKILL', requested: false };
    const trace = [
      'Traceback (most recent call last):',
      '  File "/x/a.py", line 1, in f',
      '    g()',
    ];
    const cause = classifyFailure({ phase: 'start', exit, logLines: [...trace, line] });
    failures.push({ trial, assignment, cause });
  }
  return { failures, started, inferred, launches: failures.length + started.length };
}

const tooHigh = 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB';
const tooLow = 'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.';

describe('limits on both sides', () => {
  const fractions = [80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90].map((percent) => percent / 100);

  test('where every fraction is too high or too low, a middle-out sweep launches two of eleven', () => {
    const order = [0.84, 0.85, ...fractions.filter((f) => f !== 0.84 && f !== 0.85)];
    const candidates = order.map((f) => ({ 'mem-fraction-static': f }));
    const found = sweep(candidates, ({ 'mem-fraction-static': f }) =>
      Number(f) > 0.845 ? tooHigh : tooLow,
    );
    expect(found).toMatchObject({ launches: 2, inferred: 9, started: [] });
  });

  test('a value too high with other flags says nothing about these', () => {
    const seen = sweep([{ 'mem-fraction-static': 0.85, 'page-size': 1 }], () => tooHigh).failures;
    const infer = (fraction: number, page: number) =>
      inferFailure({ 'mem-fraction-static': fraction, 'page-size': page }, seen, []);
    expect(infer(0.9, 64)).toBeUndefined();
    expect(infer(0.84, 1)).toBeUndefined();
    expect(infer(0.9, 1)?.reason).toBe('mem-fraction-static 0.85 was too high in trial 0');
  });
});

describe('the same error for the same flag values', () => {
  /** 24 points; top-k 2 and page 64 (4 of 24) fail with one text that names both. */
  const grid = [1, 2, 3].flatMap((steps) =>
    [1, 2].flatMap((topk) =>
      [1, 64].flatMap((page) =>
        [16, 32].map((limit) => ({
          'speculative-num-steps': steps,
          'speculative-eagle-topk': topk,
          'page-size': page,
          'max-running-requests': limit,
        })),
      ),
    ),
  );
  const refuse: Launch = (flags) =>
    flags['speculative-eagle-topk'] === 2 && flags['page-size'] === 64
      ? `ValueError: speculative_eagle_topk > 1 with page_size > 1 is not supported (step ${String(flags['speculative-num-steps'])})`
      : undefined;

  test('is launched twice, then inferred, and costs no point that would start', () => {
    const found = sweep(grid, refuse);
    expect(found.failures).toHaveLength(2);
    expect(found.inferred).toBe(4);
    expect(found.started).toHaveLength(18);
  });

  test('is told with the values and the trials it is inferred from', () => {
    const { failures, started } = sweep(grid, refuse);
    const candidate = grid.at(-1) ?? {};
    expect(inferFailure(candidate, failures, started)).toMatchObject({
      code: 'invalid-combination',
      fromTrials: failures.map(({ trial }) => trial),
    });
  });

  test('values that also started are not blamed', () => {
    const nameless = 'RuntimeError: shape mismatch';
    const failures = sweep(
      [
        { a: 1, b: 1 },
        { a: 1, b: 2 },
      ],
      () => nameless,
    ).failures;
    expect(inferFailure({ a: 1, b: 3 }, failures, [])).toBeDefined();
    expect(inferFailure({ a: 1, b: 3 }, failures, [{ a: 1, b: 4 }])).toBeUndefined();
  });

  test('a fault of the environment is never inferred', () => {
    const port = 'OSError: [Errno 98] address already in use';
    const { launches } = sweep([{ a: 1 }, { a: 1, b: 1 }, { a: 1, b: 2 }], () => port);
    expect(launches).toBe(3);
  });
});
