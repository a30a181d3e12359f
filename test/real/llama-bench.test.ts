import { expect, test } from 'vitest';
import { nightsweep, startLlamaServer } from './real-machine.ts';

test('bench measures a real llama-server through the OpenAI endpoint', async () => {
  await using server = await startLlamaServer();
  const { code, stdout, stderr } = await nightsweep(
    ...['bench', '1', '4', '--base-url', server.baseUrl, '--api', 'openai-completions'],
    ...['--input-tokens', '64', '--output-tokens', '32', '--format', 'json'],
  );
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/output_tokens_per_second/);
});
