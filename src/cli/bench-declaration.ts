import { Command } from '@commander-js/extra-typings';
import { type ArrivalProcess, arrivalProcesses } from '../load/arrivals.ts';
import { promptSources } from '../load/prompts/create-prompt-source.ts';
import { idRange, positive, rates, share, slos } from './bench-options.ts';
import { oneOf, wholeNumber } from './options.ts';

const APIS = ['native', 'openai-completions', 'openai-chat'] as const;
const PROCESSES = Object.keys(arrivalProcesses) as ArrivalProcess[];
const FORMATS = ['table', 'json', 'jsonl'] as const;

/** `bench` with its options, before anything is done with them. */
export function benchDeclaration() {
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
    .option('--prompts <kind>', `${Object.keys(promptSources).join(', ')}, or a file`, 'code')
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
    .option(
      '--warm-up-limit <seconds>',
      'warm-up that has not settled by then is given up',
      positive,
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
    .option('--turn-tokens <n>', 'tokens that a turn adds (default: 600)', wholeNumber(1))
    .option('--shared-prefix <share>', 'share of each prompt that all have in common', share)
    .option('--id-range <from-to>', 'token ids of random-ids prompts', idRange)
    .option('--slo <limits>', 'goodput under limits in ms, such as ttft=500,tpot=50', slos)
    .option('--latencies', 'print latency percentiles below each row')
    .option('--compare <url>', 'second server, measured in turns with the first')
    .option('--rounds <n>', 'rounds of a comparison', wholeNumber(1), 3)
    .option('--seed <n>', 'seed of the prompts', wholeNumber(0), 1)
    .option('--salt <text>', 'sends the prompts of an earlier run again (default: new ones)')
    .option('--request-timeout <seconds>', 'limit of one request', wholeNumber(1), 600)
    .option('--point-timeout <seconds>', 'limit of one point', wholeNumber(1), 3600)
    .option('--stall <seconds>', 'ends a point when no byte came for this long', positive, 60)
    .option('--max-failures <share>', 'ends a point when more of its requests failed', share, 0.5)
    .option('--self-check', 'first prove that this machine can take the streams')
    .option('--format <format>', FORMATS.join(', '), oneOf(FORMATS), 'table')
    .option('--api-key-env <name>', 'environment variable with the API key')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep bench 1 4 16 --base-url http://127.0.0.1:30000\n  nightsweep bench 1 4 16 32 64 --prompts fixed-token --stop-at-eos\n  nightsweep bench 8 --api openai-chat --format jsonl\n  nightsweep bench --rate 2,4,8 --slo ttft=500,tpot=50\n  nightsweep bench 1 16 --base-url http://127.0.0.1:30000 --compare http://127.0.0.1:30001',
    );
}

/** What was given on the command line, defaults filled in. */
export type BenchFlags = ReturnType<ReturnType<typeof benchDeclaration>['opts']>;
