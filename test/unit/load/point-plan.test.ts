import { describe, expect, test } from 'vitest';
import type { PointOptions, PointWorkload } from '../../../src/load/point-options.ts';
import { pointPlan } from '../../../src/load/point-plan.ts';

function point(
  workload: Partial<PointWorkload> = {},
  changes: Partial<PointOptions> = {},
): PointOptions {
  return {
    baseUrl: 'http://127.0.0.1:1',
    model: 'm',
    timeScale: 1,
    concurrency: 4,
    salt: 'test',
    requestTimeoutSeconds: 20,
    pointTimeoutSeconds: 30,
    stallSeconds: 20,
    workload: {
      prompts: 'code',
      inputTokens: 100,
      outputTokens: 20,
      ignoreEos: true,
      api: 'native',
      seed: 1,
      tokenId: 5,
      ...workload,
    },
    ...changes,
  };
}

describe('the plan of a point', () => {
  test('gives a point up below 30 % of the expected speed, or as told, or never', () => {
    const hopeless = (giveUpBelowFraction?: number) =>
      pointPlan(point({}, { expectedTokensPerSecond: 100, giveUpBelowFraction }), undefined, 'x')
        .hopeless;
    expect(hopeless()?.fraction).toBe(0.3);
    expect(hopeless(0.6)?.fraction).toBe(0.6);
    expect(hopeless(0)).toBeUndefined();
  });

  test('refuses sessions in an open loop', () => {
    const arrivals = { kind: 'open', requestsPerSecond: 2, process: 'poisson', seed: 1 } as const;
    expect(() => pointPlan(point({ prompts: 'agentic', arrivals }), undefined, 'x')).toThrow(
      "prompts 'agentic' are sessions",
    );
  });

  test('has random ids that begin alike as far as asked for, and no further', () => {
    const { prompts } = pointPlan(
      point({ prompts: 'random-ids', sharedPrefixFraction: 0.25 }),
      undefined,
      'x',
    );
    const [a, b] = [prompts.prompt(0), prompts.prompt(1)].map((prompt) =>
      prompt.kind === 'ids' ? prompt.ids : [],
    );
    const common = a?.findIndex((id, i) => id !== b?.[i]);
    expect(a).toHaveLength(100);
    expect(common).toBeGreaterThanOrEqual(25);
    expect(common).toBeLessThan(30);
  });

  test('has turns that grow by the tokens of a turn', () => {
    const session = { turns: 3, turnTokens: 100 };
    const { prompts } = pointPlan(point({ prompts: 'agentic', session }), undefined, 'x');
    const lengths = [0, 1, 2].map((index) => JSON.stringify(prompts.prompt(index)).length);
    const [first = 0, second = 0, third = 0] = lengths;
    // Four characters a token; JSON and the roles add some.
    expect(second - first).toBeGreaterThan(380);
    expect(third - second).toBeLessThan(700);
  });
});
