import { describe, expect, test } from 'vitest';
import { Engine } from '../../../src/simulator/engine.ts';
import { EngineRequest } from '../../../src/simulator/engine-request.ts';
import { prepareLaunch } from '../../../src/simulator/launch.ts';
import { promptFromText } from '../../../src/simulator/prompt.ts';

function engineOf(flags: string): Engine {
  const prepared = prepareLaunch(['--model-path', '/m', ...flags.split(' ')], {}, 1);
  if (prepared.state === 'exit' || prepared.launch.memory.state === 'fails') throw new Error(flags);
  return new Engine({
    settings: prepared.launch.memory.settings,
    seed: 1,
    launchFactor: 1,
    stepNoiseFraction: 0,
    slowdownAt: () => 1,
    radixCache: true,
  });
}

function requestOf(id: string, maxNewTokens: number, text = `prompt ${id}`): EngineRequest {
  return new EngineRequest(id, promptFromText(text), maxNewTokens, true, () => undefined);
}

describe('continuous batching', () => {
  test('never runs more than the limit and starts the next when one ends', () => {
    const engine = engineOf('--max-running-requests 2');
    const requests = ['a', 'b', 'c'].map((id) => requestOf(id, 20));
    for (const request of requests) engine.submit(request, 0);
    let most = 0;
    while (engine.nextEventMs !== undefined) {
      engine.advance(engine.nextEventMs);
      most = Math.max(most, engine.running.length);
    }
    expect(most).toBe(2);
    expect(requests.map((request) => request.outputTokens)).toEqual([20, 20, 20]);
    const [, second, third] = requests;
    expect(third?.scheduledAtMs).toBeGreaterThan(second?.firstTokenAtMs ?? Infinity);
  });

  test('serves an aborted request no further', () => {
    const engine = engineOf('--max-running-requests 2');
    const request = requestOf('a', 1000);
    engine.submit(request, 0);
    engine.advance(500);
    const before = request.outputTokens;
    engine.abort(request, 'gone');
    engine.advance(5000);
    expect(before).toBeGreaterThan(1);
    expect(request.outputTokens).toBe(before);
    expect(engine.idle).toBe(true);
  });

  test('sends requests back to the queue when the KV pool is full, and still ends them all', () => {
    const engine = engineOf('--max-total-tokens 600 --max-running-requests 8');
    const requests = ['a', 'b', 'c', 'd'].map((id) => requestOf(id, 250));
    for (const request of requests) engine.submit(request, 0);
    while (engine.nextEventMs !== undefined) engine.advance(engine.nextEventMs);
    expect(requests.map((request) => request.finish?.type)).toEqual(Array(4).fill('length'));
    expect(requests.some((request) => request.retractions > 0)).toBe(true);
  });

  test('gives the same moments for the same seed', () => {
    const moments = [1, 2].map(() => {
      const engine = engineOf('--speculative-algorithm NEXTN');
      const request = requestOf('a', 200);
      engine.submit(request, 0);
      engine.advance(1e6);
      return [request.firstTokenAtMs, request.lastTokenAtMs, request.verifyCount];
    });
    expect(moments[0]).toEqual(moments[1]);
  });
});

test('speculation gives several tokens per verify step and counts the steps', () => {
  const engine = engineOf('--speculative-algorithm NEXTN');
  const request = requestOf('a', 400, 'The quick brown fox jumps over the lazy dog. '.repeat(30));
  engine.submit(request, 0);
  engine.advance(1e6);
  const acceptLength = request.outputTokens / request.verifyCount;
  expect(acceptLength).toBeGreaterThan(1.5);
  expect(acceptLength).toBeLessThan(4);
});
