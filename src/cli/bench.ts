import { systemClock } from '../clock.ts';
import { UserError } from '../errors.ts';
import {
  type BenchOptions,
  type ComparedPoint,
  compareAt,
  runBench,
  runComparison,
} from '../load/bench.ts';
import type { PointDeps } from '../load/point-options.ts';
import { fetchServerInfo } from '../load/server-probe.ts';
import { type BenchFlags, benchDeclaration } from './bench-declaration.ts';
import { type BenchOutput, benchOutput } from './bench-output.ts';
import { selfCheck } from './bench-self-check.ts';
import { benchSettings } from './bench-settings.ts';
import type { CliContext } from './context.ts';
import { parseConcurrencies } from './options.ts';

/** `bench`: the load generator alone, against any running server. */
export function benchCommand(context: CliContext) {
  return benchDeclaration().action(async (words, flags) => {
    const concurrencies = parseConcurrencies(words.join(' '));
    const signal = context.takeSignals();
    const apiKey = apiKeyFrom(flags.apiKeyEnv, context);
    // A new one each time, or a server that has seen the prompts answers from its cache.
    const salt = flags.salt ?? `bench/${String(systemClock.wallMs())}`;
    const settingsFor = async (baseUrl: string): Promise<BenchOptions> => {
      const access = { baseUrl, ...(apiKey === undefined ? {} : { apiKey }) };
      const server = await fetchServerInfo(access, signal);
      return { ...access, salt, ...benchSettings(flags, concurrencies, server) };
    };
    const first = await settingsFor(flags.baseUrl);
    const second = flags.compare === undefined ? undefined : await settingsFor(flags.compare);
    const deps = { clock: systemClock, signal };
    if (flags.selfCheck === true) await selfCheck(first, deps, context);
    const output = benchOutput(flags, context);
    if (second === undefined) await measureOne(first, output, deps);
    else await measureTwo(first, second, flags, output, deps);
    signal.throwIfAborted();
  });
}

async function measureOne(
  options: BenchOptions,
  output: BenchOutput,
  deps: PointDeps,
): Promise<void> {
  for await (const point of runBench(options, deps)) output.point(point, options);
  output.end();
}

async function measureTwo(
  first: BenchOptions,
  second: BenchOptions,
  { rounds }: BenchFlags,
  output: BenchOutput,
  deps: PointDeps,
): Promise<void> {
  const points: ComparedPoint[] = [];
  for await (const compared of runComparison(first, second, rounds, deps)) {
    points.push(compared);
    output.point(compared.point, compared.server === 'first' ? first : second);
  }
  const labels = first.rates?.map((rate) => `${String(rate)}/s`) ?? first.concurrencies.map(String);
  const rows = labels.map((label, i) => ({ label, comparison: compareAt(points, i) }));
  output.end({ first: first.baseUrl, second: second.baseUrl, rows });
}

function apiKeyFrom(name: string | undefined, { environment }: CliContext): string | undefined {
  if (name === undefined) return undefined;
  const key = environment[name];
  if (key === undefined) throw new UserError(`--api-key-env: ${name} is not set`);
  return key;
}
