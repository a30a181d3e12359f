import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { runBench } from '../load/bench.ts';
import { fetchServerInfo } from '../load/server-probe.ts';
import {
  benchJson,
  benchServingLine,
  benchTableHeader,
  benchTableRow,
} from '../report/bench-table.ts';
import { markText } from '../report/marks.ts';
import type { CliContext } from './context.ts';
import { oneOf, parseConcurrencies, wholeNumber } from './options.ts';

const APIS = ['native', 'openai-completions', 'openai-chat'] as const;
const FORMATS = ['table', 'json', 'jsonl'] as const;

/** `bench`: the load generator alone, against any running server. */
export function benchCommand(context: CliContext) {
  return new Command('bench')
    .summary('measure a running server at several concurrencies')
    .description(
      'Measures a running server in a closed loop: C requests in flight, no think time.\nTokens are the server’s own count.',
    )
    .argument('[concurrencies...]', 'requests in flight', ['1', '4', '16'])
    .option('--base-url <url>', 'server', 'http://127.0.0.1:30000')
    .option(
      '--api <api>',
      `${APIS.join(', ')} (default: native where the server has it)`,
      oneOf(APIS),
    )
    .option(
      '--prompts <kind>',
      'code, chat, long-context, fixed-token, random-ids, or a file',
      'code',
    )
    .option('--input-tokens <n>', 'prompt length', wholeNumber(1), 1000)
    .option('--output-tokens <n>', 'answer length', wholeNumber(1), 1000)
    .option('--stop-at-eos', 'let answers end early (default: end of sequence is ignored)')
    .option(
      '--requests <n>',
      'requests per point (default: the larger of 4 and 2 x C)',
      wholeNumber(1),
    )
    .option('--token-id <n>', 'token of fixed-token prompts', wholeNumber(0), 23066)
    .option('--warm-up <n>', 'warm-up requests per point (default: C)', wholeNumber(0))
    .option('--seed <n>', 'seed of the prompts', wholeNumber(0), 1)
    .option('--request-timeout <seconds>', 'limit of one request', wholeNumber(1), 600)
    .option('--point-timeout <seconds>', 'limit of one point', wholeNumber(1), 3600)
    .option('--format <format>', FORMATS.join(', '), oneOf(FORMATS), 'table')
    .option('--api-key-env <name>', 'environment variable with the API key')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep bench 1 4 16 --base-url http://127.0.0.1:30000\n  nightsweep bench 1 4 16 32 64 --prompts fixed-token --stop-at-eos\n  nightsweep bench 8 --api openai-chat --format jsonl',
    )
    .action(async (words, options) => {
      const concurrencies = parseConcurrencies(words.join(' '));
      const signal = context.takeSignals();
      const apiKey = apiKeyFrom(options.apiKeyEnv, context);
      const access = { baseUrl: options.baseUrl, ...(apiKey === undefined ? {} : { apiKey }) };
      const server = await fetchServerInfo(access, signal);
      const api = options.api ?? (server.kind === 'native' ? 'native' : 'openai-completions');
      if (options.format === 'table') context.stdout(`${benchTableHeader()}\n`);
      const points = runBench(
        {
          ...access,
          model: server.model,
          timeScale: server.timeScale,
          runningLimit: server.runningLimit,
          concurrencies,
          workload: {
            prompts: options.prompts,
            inputTokens: options.inputTokens,
            outputTokens: options.outputTokens,
            ignoreEos: options.stopAtEos !== true,
            api,
            requests: options.requests,
            seed: options.seed,
            tokenId: options.tokenId,
          },
          warmUpRequests: options.warmUp,
          // A new one each time, or a server that has seen the prompts answers from its cache.
          salt: `bench/${String(systemClock.wallMs())}`,
          requestTimeoutSeconds: options.requestTimeout,
          pointTimeoutSeconds: options.pointTimeout,
          stallSeconds: 60,
        },
        { clock: systemClock, signal },
      );
      for await (const { metrics } of points) {
        if (options.format === 'json') context.stdout(`${JSON.stringify(benchJson(metrics))}\n`);
        if (options.format === 'jsonl') {
          const line = benchServingLine(metrics, {
            backend: api,
            dataset: options.prompts,
            tag: 'nightsweep',
          });
          context.stdout(`${line}\n`);
        }
        if (options.format === 'table') context.stdout(`${benchTableRow(metrics)}\n`);
        for (const mark of metrics.marks) {
          context.stderr(`C=${String(metrics.concurrency)}: ${markText(mark).text}`);
        }
      }
      signal.throwIfAborted();
    });
}

function apiKeyFrom(name: string | undefined, { environment }: CliContext): string | undefined {
  if (name === undefined) return undefined;
  const key = environment[name];
  if (key === undefined) throw new UserError(`--api-key-env: ${name} is not set`);
  return key;
}
