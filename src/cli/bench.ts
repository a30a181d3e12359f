import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { type ArrivalProcess, arrivalProcesses } from '../load/arrivals.ts';
import {
  type BenchOptions,
  type ComparedPoint,
  compareAt,
  runBench,
  runComparison,
} from '../load/bench.ts';
import type { MeasuredPoint } from '../load/point-options.ts';
import { fetchServerInfo } from '../load/server-probe.ts';
import {
  benchJson,
  benchServingLine,
  benchTableHeader,
  benchTableRow,
  comparisonTable,
  latencyLine,
} from '../report/bench-table.ts';
import { markText } from '../report/marks.ts';
import { idRange, positive, rates, share, slos } from './bench-options.ts';
import type { CliContext } from './context.ts';
import { oneOf, parseConcurrencies, wholeNumber } from './options.ts';

const APIS = ['native', 'openai-completions', 'openai-chat'] as const;
const PROCESSES = Object.keys(arrivalProcesses) as ArrivalProcess[];
const FORMATS = ['table', 'json', 'jsonl'] as const;

/** `bench`: the load generator alone, against any running server. */
export function benchCommand(context: CliContext) {
  return new Command('bench')
    .summary('measure a running server at several concurrencies')
    .description(
      'Measures a running server in a closed loop (C requests in flight, no think time unless given)\nor an open loop (--rate; latencies from the intended send).\nTokens are the server’s own count.',
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
      'code, chat, long-context, agentic, fixed-token, random-ids, or a file',
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
    .option(
      '--warm-up <n>',
      'requests of a warm-up window, 0 for none (default: C)',
      wholeNumber(0),
    )
    .option('--rate <list>', 'open loop: requests per second, such as 2,4,8 (instead of C)', rates)
    .option(
      '--arrivals <process>',
      `open loop: ${PROCESSES.join(', ')}`,
      oneOf(PROCESSES),
      'poisson',
    )
    .option('--burstiness <n>', 'shape of gamma arrivals: below 1 in bursts', positive)
    .option('--think-time <seconds>', 'pause between an answer and the next request', positive)
    .option('--turns <n>', 'requests of a session of agentic prompts (default: 6)', wholeNumber(1))
    .option('--pause <seconds>', 'mean pause between turns (default: 2)', positive)
    .option('--shared-prefix <share>', 'share of each prompt that all have in common', share)
    .option('--id-range <from-to>', 'token ids of random-ids prompts', idRange)
    .option('--slo <limits>', 'goodput under limits in ms, such as ttft=500,tpot=50', slos)
    .option('--latencies', 'print latency percentiles below each row')
    .option('--compare <url>', 'second server, measured in turns with the first')
    .option('--rounds <n>', 'rounds of a comparison', wholeNumber(1), 3)
    .option('--seed <n>', 'seed of the prompts', wholeNumber(0), 1)
    .option('--request-timeout <seconds>', 'limit of one request', wholeNumber(1), 600)
    .option('--point-timeout <seconds>', 'limit of one point', wholeNumber(1), 3600)
    .option('--format <format>', FORMATS.join(', '), oneOf(FORMATS), 'table')
    .option('--api-key-env <name>', 'environment variable with the API key')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep bench 1 4 16 --base-url http://127.0.0.1:30000\n  nightsweep bench 1 4 16 32 64 --prompts fixed-token --stop-at-eos\n  nightsweep bench 8 --api openai-chat --format jsonl\n  nightsweep bench --rate 2,4,8 --slo ttft=500,tpot=50\n  nightsweep bench 1 16 --base-url http://127.0.0.1:30000 --compare http://127.0.0.1:30001',
    )
    .action(async (words, options) => {
      const concurrencies = parseConcurrencies(words.join(' '));
      const signal = context.takeSignals();
      const apiKey = apiKeyFrom(options.apiKeyEnv, context);
      const access = { baseUrl: options.baseUrl, ...(apiKey === undefined ? {} : { apiKey }) };
      const load = {
        concurrencies,
        rates: options.rate,
        process: options.arrivals,
        burstiness: options.burstiness,
      };
      const optionsFor = async (baseUrl: string): Promise<BenchOptions> => {
        const at = { ...access, baseUrl };
        const server = await fetchServerInfo(at, signal);
        return {
          ...at,
          ...load,
          model: server.model,
          timeScale: server.timeScale,
          runningLimit: server.runningLimit,
          workload: {
            prompts: options.prompts,
            inputTokens: options.inputTokens,
            outputTokens: options.outputTokens,
            ignoreEos: options.stopAtEos !== true,
            api: options.api ?? (server.kind === 'native' ? 'native' : 'openai-completions'),
            requests: options.requests,
            seed: options.seed,
            tokenId: options.tokenId,
            idRange: options.idRange,
            sharedPrefixFraction: options.sharedPrefix,
            session: { turns: options.turns, pauseSeconds: options.pause },
            ...(options.thinkTime === undefined
              ? {}
              : { arrivals: { kind: 'closed', thinkTimeMs: options.thinkTime * 1000 } }),
          },
          warmUpRequests: options.warmUp,
          // A new one each time, or a server that has seen the prompts answers from its cache.
          salt,
          requestTimeoutSeconds: options.requestTimeout,
          pointTimeoutSeconds: options.pointTimeout,
          stallSeconds: 60,
          slos: options.slo,
        };
      };
      const salt = `bench/${String(systemClock.wallMs())}`;
      const first = await optionsFor(options.baseUrl);
      const second = options.compare === undefined ? undefined : await optionsFor(options.compare);
      const measured: Record<string, unknown>[] = [];
      const print = (point: MeasuredPoint, { workload, baseUrl }: BenchOptions): void => {
        const run = { backend: workload.api, dataset: workload.prompts };
        const tag = second === undefined ? 'nightsweep' : baseUrl;
        if (options.format === 'json')
          measured.push({ server: baseUrl, ...benchJson(point.metrics) });
        printPoint(point, { ...run, tag }, options, context);
      };
      if (options.format === 'table') context.stdout(`${benchTableHeader()}\n`);
      const deps = { clock: systemClock, signal };
      if (second === undefined) {
        for await (const point of runBench(first, deps)) print(point, first);
      } else {
        const points: ComparedPoint[] = [];
        for await (const compared of runComparison(first, second, options.rounds, deps)) {
          points.push(compared);
          print(compared.point, compared.server === 'first' ? first : second);
        }
        const labels =
          load.rates?.map((rate) => `${String(rate)}/s`) ?? load.concurrencies.map(String);
        const rows = labels.map((label, i) => ({ label, comparison: compareAt(points, i) }));
        if (options.format === 'table') {
          context.stdout(`\n${comparisonTable(first.baseUrl, second.baseUrl, rows)}`);
        }
      }
      if (options.format === 'json') context.stdout(`${JSON.stringify(measured, null, 2)}\n`);
      signal.throwIfAborted();
    });
}

function printPoint(
  { metrics }: MeasuredPoint,
  run: { readonly backend: string; readonly dataset: string; readonly tag: string },
  options: { readonly format: (typeof FORMATS)[number]; readonly latencies?: true | undefined },
  context: CliContext,
): void {
  const lines = {
    // One document for all points is printed at the end.
    json: () => undefined,
    jsonl: () => benchServingLine(metrics, run),
    table: () =>
      [benchTableRow(metrics), ...(options.latencies === true ? [latencyLine(metrics)] : [])].join(
        '\n',
      ),
  };
  const line = lines[options.format]();
  if (line !== undefined) context.stdout(`${line}\n`);
  for (const mark of metrics.marks) {
    context.stderr(`C=${String(metrics.concurrency)}: ${markText(mark).text}`);
  }
}

function apiKeyFrom(name: string | undefined, { environment }: CliContext): string | undefined {
  if (name === undefined) return undefined;
  const key = environment[name];
  if (key === undefined) throw new UserError(`--api-key-env: ${name} is not set`);
  return key;
}
