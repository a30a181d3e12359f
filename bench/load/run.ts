import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuAt, type TreeUse, treeUse } from './process-tree.ts';
import { type Load, type Reported, type Tool, tools } from './tools.ts';

/*
 * Runs load tools beside each other against the truth server, in turns, and prints CPU, memory and
 * error of each. See README.md.
 */

const { values: options } = parseArgs({
  options: {
    tools: { type: 'string', default: Object.keys(tools).join(',') },
    concurrency: { type: 'string', default: '16,128' },
    tokens: { type: 'string', default: '400' },
    waves: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '1' },
    'per-chunk': { type: 'string', default: '1' },
    rate: { type: 'string', default: '200' },
    out: { type: 'string' },
  },
});

const TTFT_MS = 100;
const SAMPLE_MS = 100;
const LIMIT_MS = 240_000;

interface TruthRow {
  readonly arrivedAtMs: number;
  readonly firstWriteAtMs: number;
  readonly lastWriteAtMs: number;
  readonly tokens: number;
  readonly chunks: number;
}

type Truth = { readonly [Metric in keyof Reported]-?: number };

interface Row {
  readonly tool: string;
  readonly concurrency: number;
  readonly requests: number;
  readonly cpuSeconds: number;
  readonly cpuPerMillion: number;
  readonly startUpCpuSeconds: number;
  readonly peakMegabytes: number;
  readonly throughputOfIdeal: number;
  readonly truth: Truth;
  readonly reported: Reported;
  readonly failure?: string;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (data: Buffer) => {
      resolve(data.toString().trim());
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      reject(new Error(`the truth server ended with ${code}`));
    });
  });
}

const mean = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0) / Math.max(1, values.length);

/** The metrics as they really were, by the moments the server wrote. */
function truthOf(rows: readonly TruthRow[], perChunk: number): Truth {
  const startMs = Math.min(...rows.map((row) => row.arrivedAtMs));
  const endMs = Math.max(...rows.map((row) => row.lastWriteAtMs));
  const tokens = rows.reduce((total, row) => total + row.tokens, 0);
  const ttfts = rows.map((row) => row.firstWriteAtMs - row.arrivedAtMs).sort((a, b) => a - b);
  const tpots = rows.map(
    (row) => (row.lastWriteAtMs - row.firstWriteAtMs) / Math.max(1, row.tokens - perChunk),
  );
  return {
    tokensPerSecond: (tokens / (endMs - startMs)) * 1000,
    ttftMs: mean(ttfts),
    p99TtftMs: ttfts[Math.ceil(ttfts.length * 0.99) - 1] ?? Number.NaN,
    tpotMs: mean(tpots),
    itlMs: mean(tpots),
  };
}

async function runTool(name: string, tool: Tool, load: Load): Promise<Row | undefined> {
  rmSync(load.folder, { recursive: true, force: true });
  mkdirSync(load.folder, { recursive: true });
  const truthUrl = `http://127.0.0.1:${load.port}/truth`;
  await (await fetch(truthUrl)).json();
  const [program = '', ...argv] = tool.argv(load);
  const environment = { ...process.env, ...tool.environment };
  const child = spawn(program, argv, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const samples: TreeUse[] = [];
  const state = { ended: false };
  const exit = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      state.ended = true;
      resolve(code);
    });
  });
  const startedMs = performance.now();
  while (!state.ended) {
    samples.push(treeUse(child.pid ?? 0));
    if (performance.now() - startedMs > LIMIT_MS) child.kill('SIGTERM');
    await Promise.race([exit, sleep(SAMPLE_MS)]);
  }
  const code = await exit;
  const all = (await (await fetch(truthUrl)).json()) as TruthRow[];
  // A tool's own probes are shorter or come before: the last requests are the run.
  const rows = all.filter((row) => row.tokens >= load.tokens).slice(-load.requests);
  if (code !== 0 || rows.length === 0) {
    process.stderr.write(
      `${name}: exit ${code}, ${rows.length} requests\n${(stdout + stderr).slice(-1500)}\n`,
    );
    return undefined;
  }
  const perChunk = Number(options['per-chunk']);
  const firstMs = Math.min(...rows.map((row) => row.arrivedAtMs));
  const lastMs = Math.max(...rows.map((row) => row.lastWriteAtMs));
  const startUp = cpuAt(samples, firstMs);
  const cpuSeconds = cpuAt(samples, lastMs) - startUp;
  const events = rows.reduce((total, row) => total + row.chunks, 0);
  const waves = rows.length / load.concurrency;
  const gapMs = (1000 / Number(options.rate)) * perChunk;
  const idealMs = waves * (TTFT_MS + (Math.ceil(load.tokens / perChunk) - 1) * gapMs);
  const truth = truthOf(rows, perChunk);
  return {
    tool: name,
    concurrency: load.concurrency,
    requests: rows.length,
    cpuSeconds,
    cpuPerMillion: (cpuSeconds / events) * 1e6,
    startUpCpuSeconds: startUp,
    peakMegabytes: Math.max(...samples.map((sample) => sample.residentBytes)) / 1e6,
    throughputOfIdeal: truth.tokensPerSecond / ((rows.length * load.tokens * 1000) / idealMs),
    truth,
    reported: tool.read(load, stdout),
  };
}

const percentOff = (reported: number | undefined, truth: number): string =>
  reported === undefined ? '-' : `${((reported / truth - 1) * 100).toFixed(2)} %`;
const msOff = (reported: number | undefined, truth: number): string =>
  reported === undefined ? '-' : `${(reported - truth).toFixed(2)} ms`;

function line(row: Row): string {
  const { truth, reported } = row;
  return [
    row.tool.padEnd(22),
    String(row.concurrency).padStart(4),
    row.cpuSeconds.toFixed(2).padStart(8),
    row.cpuPerMillion.toFixed(1).padStart(9),
    row.startUpCpuSeconds.toFixed(2).padStart(9),
    row.peakMegabytes.toFixed(0).padStart(7),
    row.throughputOfIdeal.toFixed(3).padStart(7),
    percentOff(reported.tokensPerSecond, truth.tokensPerSecond).padStart(11),
    percentOff(reported.tpotMs, truth.tpotMs).padStart(10),
    msOff(reported.ttftMs, truth.ttftMs).padStart(11),
    msOff(reported.p99TtftMs, truth.p99TtftMs).padStart(11),
  ].join(' ');
}

const folder = join(import.meta.dirname, '.work/runs');
const tsx = join(import.meta.dirname, '../../node_modules/.bin/tsx');
const server = spawn(
  tsx,
  [join(import.meta.dirname, 'truth-server.ts'), TTFT_MS, options.rate, options['per-chunk']].map(
    String,
  ),
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
try {
  const port = Number(await firstLine(server));
  process.stdout.write(
    'tool                      C   CPU s  CPU s/1M  start-up  MB peak  ideal  throughput       TPOT        TTFT    p99 TTFT\n',
  );
  await (await fetch(`http://127.0.0.1:${port}/prepare?tokens=${options.tokens}`)).json();
  // The server's own code is slow until it is compiled: not at the cost of the first tool.
  const warmUp = tools['raw socket'];
  const warmUpLoad = {
    port,
    concurrency: 32,
    requests: 64,
    tokens: Number(options.tokens),
    folder,
  };
  if (warmUp !== undefined) await runTool('warm-up of the server', warmUp, warmUpLoad);
  const rows: Row[] = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const concurrency of options.concurrency.split(',').map(Number)) {
      for (const name of options.tools.split(',')) {
        const tool = tools[name];
        if (tool === undefined) throw new Error(`no tool '${name}'`);
        if (!existsSync(tool.needs)) {
          process.stdout.write(`${name}: not installed (${tool.needs})\n`);
          continue;
        }
        const requests = concurrency * Number(options.waves);
        const tokens = Number(options.tokens);
        const row = await runTool(name, tool, { port, concurrency, requests, tokens, folder });
        if (row === undefined) continue;
        rows.push(row);
        process.stdout.write(`${line(row)}\n`);
      }
    }
  }
  if (options.out !== undefined) writeFileSync(options.out, JSON.stringify(rows, null, 2));
} finally {
  server.kill('SIGTERM');
}
