import { expect, test } from 'vitest';
import { nightsweep, startLlamaServer } from './real-machine.ts';

test('bench measures a real llama-server through the OpenAI endpoint', async () => {
  await using server = await startLlamaServer();
  const { code, stdout, stderr } = await nightsweep(
    ...['bench', '--base-url', server.baseUrl, '--api', 'openai-completions'],
    ...['--concurrency', '1,4', '--input-tokens', '64', '--output-tokens', '32', '--json'],
  );
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/output_tokens_per_second/);
});
