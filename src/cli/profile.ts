import { createReadStream } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { loadStudy, parseStudy } from '../config/load-study.ts';
import { UserError } from '../errors.ts';
import { binProfile } from '../report/profile-binning.ts';
import { LogLoadReader, type LogPeriod } from '../report/profile-log.ts';
import {
  loadOfRange,
  loadOfSnapshots,
  type MetricsSnapshot,
} from '../report/profile-prometheus.ts';
import type { CountWhat, ObservedLoad } from '../report/profile-shares.ts';
import { withProfile } from '../report/profile-study-file.ts';
import { profileJson, profileReport } from '../report/profile-text.ts';
import type { CliContext } from './context.ts';
import { oneOf, wholeNumber } from './options.ts';

/** A snapshot of several MiB would not be a page of metrics. */
const FETCH_TIMEOUT_MS = 30_000;
/** Large chunks: a day's log is hundreds of MiB. */
const CHUNK_BYTES = 1 << 17;

interface ProfileOptions extends LogPeriod {
  readonly count: CountWhat;
  readonly seconds: number;
  readonly every: number;
  readonly write?: string | undefined;
  readonly json?: true | undefined;
}

/** `profile`: how many requests production has in flight, from its own log or metrics. */
export function profileCommand(context: CliContext) {
  return new Command('profile')
    .summary('find the profile of your production load')
    .description(
      'Reads how many requests production has in flight: from SGLang’s log or journal (Decode batch\nlines; also .gz, or - for standard input), from Prometheus data (text snapshots or the JSON of a\nrange query), or from a URL of either (the server’s /metrics is watched for --seconds).',
    )
    .argument('<source...>', 'log files, metrics files, - or a URL')
    .option('--since <time>', 'lines from then on: 2026-11-30 or "2026-11-30 18:00", log time')
    .option('--until <time>', 'lines before then')
    .option(
      '--count <what>',
      'in-flight (running and queued) or running',
      oneOf(['in-flight', 'running'] as const),
      'in-flight' as CountWhat,
    )
    .option('--seconds <n>', 'how long a server’s /metrics is watched', wholeNumber(1), 60)
    .option('--every <n>', 'seconds between two looks at it', wholeNumber(1), 1)
    .option('--write <study>', 'put the profile into this study file; its comments stay')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep profile sglang.log --write study.yaml\n  journalctl -u sglang -o cat --since yesterday | nightsweep profile -\n  nightsweep profile http://127.0.0.1:30000/metrics --seconds 600',
    )
    .action(async (sources, options) => {
      // Bad input is refused before a long read.
      if (options.write !== undefined) await loadStudy(options.write);
      const load = await readLoad(sources, options);
      if (load.busySeconds === 0) {
        throw new UserError(`${sources.join(', ')}: no request was being answered`, {
          hint: 'expected "Decode batch, #running-req: N" lines, or samples of sglang:num_running_reqs',
        });
      }
      if (options.json === true) context.stdout(`${JSON.stringify(profileJson(load), null, 2)}\n`);
      else context.stdout(`${profileReport(load)}\n`);
      if (options.write !== undefined) {
        await writeProfile(options.write, load);
        context.stderr(`wrote the profile to ${options.write}`);
      }
    });
}

async function readLoad(sources: readonly string[], options: ProfileOptions) {
  const [first = ''] = sources;
  if (/^https?:\/\//.test(first)) return loadOfUrl(first, options);
  const beginning = first === '-' ? '' : await beginningOf(first);
  if (beginning.trimStart().startsWith('{') && beginning.includes('"result"')) {
    return loadOfRange(await readJson(first), options.count);
  }
  if (/^(?:# (?:HELP|TYPE) |\w+:\w+(?:\{| \d))/m.test(beginning) && /sglang[:_]/.test(beginning)) {
    return loadOfSnapshots(await Promise.all(sources.map(readSnapshot)), options.count);
  }
  const reader = new LogLoadReader(options.count, options);
  for (const source of sources) await readLines(source, reader);
  return reader.result();
}

async function readSnapshot(path: string): Promise<MetricsSnapshot> {
  return { text: await readFile(path, 'utf8'), seconds: 1 };
}

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, 'utf8'));
}

/** Enough to tell a log from metrics. */
async function beginningOf(path: string): Promise<string> {
  if (path.endsWith('.gz')) return '';
  try {
    for await (const chunk of createReadStream(path, { encoding: 'utf8', end: 65_535 })) {
      return String(chunk);
    }
    return '';
  } catch (error) {
    throw new UserError(`${path} cannot be read`, { cause: error });
  }
}

/** Hands the lines of a file over one by one; only the current chunk is in memory. */
async function readLines(source: string, reader: LogLoadReader): Promise<void> {
  // Latin-1: what is searched for is ASCII, and decoding UTF-8 would cost a third of the time.
  const file =
    source === '-' ? process.stdin : createReadStream(source, { highWaterMark: CHUNK_BYTES });
  const stream = source.endsWith('.gz') ? file.pipe(createGunzip()) : file;
  stream.setEncoding('latin1');
  let rest = '';
  try {
    for await (const chunk of stream) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) reader.line(line);
    }
  } catch (error) {
    throw new UserError(`${source} cannot be read`, { cause: error });
  }
  reader.line(rest);
}

/** A URL that answers JSON is a range query; else it is a server's metrics, watched for a while. */
async function loadOfUrl(url: string, options: ProfileOptions): Promise<ObservedLoad> {
  const first = await fetchText(url);
  if (first.trimStart().startsWith('{')) return loadOfRange(JSON.parse(first), options.count);
  const snapshots = [{ text: first, seconds: options.every }];
  const end = systemClock.nowMs() + options.seconds * 1000;
  while (systemClock.nowMs() + options.every * 1000 <= end) {
    await systemClock.sleep(options.every * 1000);
    snapshots.push({ text: await fetchText(url), seconds: options.every });
  }
  return loadOfSnapshots(snapshots, options.count);
}

async function fetchText(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
    if (answer.ok) return await answer.text();
    throw new Error(`HTTP status ${String(answer.status)}`);
  } catch (error) {
    const hint = 'SGLang has /metrics when it is started with --enable-metrics';
    throw new UserError(`${url} cannot be read`, { cause: error, hint });
  }
}

/** Through a second file, so that a full disk leaves the old study; checked before it replaces. */
async function writeProfile(path: string, load: ObservedLoad): Promise<void> {
  const text = withProfile(await readFile(path, 'utf8'), binProfile(load.secondsByConcurrency));
  parseStudy(text, path);
  try {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  } catch (error) {
    throw new UserError(`${path} cannot be written`, { cause: error });
  }
}
