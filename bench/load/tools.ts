import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;
const work = join(here, '.work');
const root = join(here, '../..');
const sglangPython = join(root, 'test/real/.work/sglang/bin/python');
const model = join(root, 'test/real/.work/models/qwen3');

/** One run to make. */
export interface Load {
  readonly port: number;
  readonly concurrency: number;
  readonly requests: number;
  readonly tokens: number;
  /** An empty folder for files of the tool. */
  readonly folder: string;
}

/** What a tool reports of a run; absent what it does not. */
export interface Reported {
  readonly tokensPerSecond?: number | undefined;
  readonly ttftMs?: number | undefined;
  readonly p99TtftMs?: number | undefined;
  readonly tpotMs?: number | undefined;
  readonly itlMs?: number | undefined;
}

/** A load tool: add an entry to `tools`, nothing else. */
export interface Tool {
  /** A file that is there when the tool is installed. */
  readonly needs: string;
  readonly argv: (load: Load) => readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly read: (load: Load, stdout: string) => Reported;
}

type Json = Readonly<Record<string, number | undefined>>;

/** Result line of bench_serving and of everything that writes its format. */
function benchServing(line: string): Reported {
  // Python writes a rate without limit as Infinity, which is no JSON.
  const result = JSON.parse(line.replaceAll(': Infinity', ': null')) as Json;
  return {
    tokensPerSecond: result['output_throughput'],
    ttftMs: result['mean_ttft_ms'],
    p99TtftMs: result['p99_ttft_ms'],
    tpotMs: result['mean_tpot_ms'],
    itlMs: result['mean_itl_ms'],
  };
}

const url = ({ port }: Load): string => `http://127.0.0.1:${port}`;
const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

function nightsweep(api: 'native' | 'openai-completions', warmUp = ['--warm-up', '0']): Tool {
  return {
    needs: join(root, 'dist/cli/main.js'),
    argv: (load) => [
      process.execPath,
      join(root, 'dist/cli/main.js'),
      ...['bench', String(load.concurrency), '--base-url', url(load), '--api', api],
      ...['--input-tokens', '100', '--output-tokens', String(load.tokens)],
      ...['--requests', String(load.requests), ...warmUp, '--format', 'jsonl'],
    ],
    read: (_load, stdout) => benchServing(lastLine(stdout)),
  };
}

function sglangServing(module: 'serving' | 'rust_client', backend: string): Tool {
  const file = (load: Load): string => join(load.folder, 'result.jsonl');
  return {
    needs: sglangPython,
    // Its Python client imports a data set library that serving does not need (install.sh).
    environment: { HF_HUB_OFFLINE: '1', PYTHONPATH: join(work, 'sglang-extras') },
    argv: (load) => [
      sglangPython,
      ...['-m', `sglang.benchmark.${module}`, '--backend', backend, '--base-url', url(load)],
      ...['--model', model, '--tokenizer', model, '--dataset-name', 'random-ids'],
      ...['--random-input-len', '100', '--random-output-len', String(load.tokens)],
      ...['--random-range-ratio', '1.0', '--num-prompts', String(load.requests)],
      ...['--max-concurrency', String(load.concurrency), '--warmup-requests', '0'],
      ...['--disable-tqdm', '--output-file', file(load)],
    ],
    read: (load) => benchServing(lastLine(readFileSync(file(load), 'utf8'))),
  };
}

export const tools: Readonly<Record<string, Tool>> = {
  'nightsweep native': nightsweep('native'),
  'nightsweep openai': nightsweep('openai-completions'),
  /** As it is used: with its warm-up, whose CPU counts as start-up here. */
  'nightsweep warmed up': nightsweep('native', []),
  'bare undici dispatch': {
    needs: join(here, 'clients/reference.mjs'),
    argv: ({ port, concurrency, requests, tokens }) =>
      [process.execPath, join(here, 'clients/reference.mjs'), 'undici'].concat(
        [port, concurrency, requests, tokens].map(String),
      ),
    read: () => ({}),
  },
  'raw socket': {
    needs: join(here, 'clients/reference.mjs'),
    argv: ({ port, concurrency, requests, tokens }) =>
      [process.execPath, join(here, 'clients/reference.mjs'), 'socket'].concat(
        [port, concurrency, requests, tokens].map(String),
      ),
    read: () => ({}),
  },
  'stdlib python': {
    needs: join(here, 'clients/stdlib.py'),
    argv: ({ port, concurrency, requests, tokens }) =>
      ['python3', join(here, 'clients/stdlib.py')].concat(
        [port, concurrency, requests, tokens].map(String),
      ),
    read: (_load, stdout) => benchServing(lastLine(stdout)),
  },
  'sglang python': sglangServing('serving', 'sglang'),
  'sglang rust': sglangServing('rust_client', 'sglang'),
  'sglang python openai': sglangServing('serving', 'sglang-oai'),
  vllm: {
    needs: join(work, 'vllm/vllm/benchmarks/serve.py'),
    environment: {
      HF_HUB_OFFLINE: '1',
      PYTHONPATH: [join(work, 'vllm'), join(work, 'sglang-extras')].join(':'),
    },
    argv: (load) => [
      sglangPython,
      join(here, 'clients/vllm_serve.py'),
      ...['--backend', 'openai', '--base-url', url(load), '--endpoint', '/v1/completions'],
      ...['--model', model, '--tokenizer', model, '--dataset-name', 'random', '--ignore-eos'],
      ...['--random-input-len', '100', '--random-output-len', String(load.tokens)],
      ...['--num-prompts', String(load.requests), '--max-concurrency', String(load.concurrency)],
      ...['--ready-check-timeout-sec', '0', '--num-warmups', '0', '--disable-tqdm'],
      ...['--save-result', '--result-dir', load.folder, '--result-filename', 'result.json'],
    ],
    read: ({ folder }) => benchServing(readFileSync(join(folder, 'result.json'), 'utf8')),
  },
  aiperf: {
    needs: join(work, 'aiperf/bin/aiperf'),
    environment: { HF_HUB_OFFLINE: '1', TRANSFORMERS_OFFLINE: '1' },
    argv: (load) => [
      join(work, 'aiperf/bin/aiperf'),
      ...['profile', '-m', 'truth', '--endpoint-type', 'completions', '--streaming'],
      ...['--url', url(load), '--tokenizer', model, '--use-server-token-count'],
      ...['--concurrency', String(load.concurrency), '--request-count', String(load.requests)],
      ...['--isl', '100', '--osl', String(load.tokens), '--extra-inputs', 'ignore_eos:true'],
      ...['--artifact-dir', load.folder, '--ui', 'none'],
    ],
    read: ({ folder }) => {
      const name = readdirSync(folder).find((file) => file.endsWith('aiperf.json'));
      if (name === undefined) return {};
      type Metric = Readonly<Record<string, number | undefined>> | undefined;
      const text = readFileSync(join(folder, name), 'utf8');
      const result = JSON.parse(text) as Readonly<Record<string, Metric>>;
      return {
        tokensPerSecond: result['output_token_throughput']?.['avg'],
        ttftMs: result['time_to_first_token']?.['avg'],
        p99TtftMs: result['time_to_first_token']?.['p99'],
        // Its inter-token latency is (end - first token) / (tokens - 1).
        tpotMs: result['inter_token_latency']?.['avg'],
      };
    },
  },
  guidellm: {
    needs: join(work, 'guidellm/bin/guidellm'),
    environment: { HF_HUB_OFFLINE: '1', TRANSFORMERS_OFFLINE: '1' },
    argv: (load) => [
      join(work, 'guidellm/bin/guidellm'),
      ...['run', '--backend', `kind=openai_http,target=${url(load)},model=truth`],
      ...['--profile', `kind=concurrent,streams=${load.concurrency}`],
      ...['--constraint', `kind=max_requests,count=${load.requests}`],
      ...['--tokenizer', `kind=hf_auto,model=${model}`],
      ...['--data', `kind=synthetic_text,prompt_tokens=100,output_tokens=${load.tokens}`],
      ...['--output', `kind=json,path=${join(load.folder, 'result.json')}`, '--disable-console'],
    ],
    read: ({ folder }) => {
      const file = join(folder, 'result.json');
      if (!existsSync(file)) return {};
      type Metric = { successful?: { mean?: number; percentiles?: { p99?: number } } };
      const report = JSON.parse(readFileSync(file, 'utf8')) as {
        benchmarks?: { metrics?: Readonly<Record<string, Metric>> }[];
      };
      const metrics = report.benchmarks?.[0]?.metrics ?? {};
      const mean = (name: string) => metrics[name]?.successful?.mean;
      return {
        tokensPerSecond: mean('output_tokens_per_second'),
        ttftMs: mean('time_to_first_token_ms'),
        p99TtftMs: metrics['time_to_first_token_ms']?.successful?.percentiles?.p99,
        // Its time per output token includes the first one; the gap between tokens is TPOT here.
        tpotMs: mean('inter_token_latency_ms'),
      };
    },
  },
};
