/** What a start-up log says about the server that runs. Absent: not said, which is not "equal". */
export interface StartupValues {
  readonly version?: string;
  /** Running requests per data-parallel worker, as the scheduler reports it when it is ready. */
  readonly runningLimitPerWorker?: number;
  /** The limit asked for, where the log says that it was not granted. */
  readonly requestedRunningLimit?: number;
  /** Tokens the KV pool holds. */
  readonly kvTokens?: number;
  readonly contextLength?: number;
  readonly chunkedPrefillSize?: number;
  /** Batch sizes of the target's decode graphs, ascending; empty: decode runs without graphs. */
  readonly decodeGraphSizes?: readonly number[];
  readonly attentionBackend?: string;
  /** Lines that say that a setting was removed, ignored or has no effect (field report B8). */
  readonly ignored: readonly string[];
}

const summary = /max_total_num_tokens=(?<kv>\d+)/;
/**
 * A limit that was not granted, in the words of several versions: "was reduced from the requested
 * 128 to 50", "is capped to 50 by", "limited to 50", "128 -> 50" (field report B3). The number
 * after the last to/at/arrow is what runs.
 */
const limitNotGranted =
  /max[ _-]?(?:num[ _-]?)?running[ _-]?req(?:uest)?s.*\b(?:reduc|cap|limit|clamp|lower|adjust|decreas|shr[iu]nk|exceed)/i;
/** The same with the verb in front: "Reducing max_running_requests from 128 to 50". */
const limitNotGrantedVerbFirst =
  /\b(?:reduc|capp|limit|clamp|lower|adjust|decreas|shrink)\w*\b.*max[ _-]?(?:num[ _-]?)?running[ _-]?req(?:uest)?s/i;
const granted = /(?:\bto\b|\bat\b|->|→|\bonly\b|=>)\s*(?<limit>\d+)/gi;
const requested =
  /(?:\bfrom\b(?: the)?(?: requested)?|requested(?: value)?(?: of)?|\()\s*(?<limit>\d+)/i;
const graphSizes =
  /Captur\w* (?!draft)(?:[\w ]*?)(?:cuda|cpu) graph\w*.*?\bbs[ =:]*\[(?<sizes>[^\]]*)\]/i;
const graphsOff =
  /(?:[Cc]uda|CUDA|[Cc]pu) graph is disabled because|Disable decode (?:CUDA|cuda) graph|disable_cuda_graph=True/;
const backend = /Attention backend not specified\. Use (?<backend>\w+) backend/;
const version =
  /\bsglang(?: version)?[:= ]+v?(?<version>\d+\.\d+\.\d+\S*)|'version': '(?<quoted>\d+\.\d+[^']*)'/i;
const ignoredSetting =
  /(?:has|have) been removed|(?:has|have|will have) no effect|(?:is|are|will be) ignored|is no longer (?:used|supported)/i;

function number(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function field(line: string, name: string): number | undefined {
  return number(new RegExp(`\\b${name}=(\\d+)`).exec(line)?.[1]);
}

function withoutUndefined<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined)) as T;
}

function notGrantedLimit(lines: readonly string[]): { effective?: number; requested?: number } {
  const line = lines.find(
    (text) => limitNotGranted.test(text) || limitNotGrantedVerbFirst.test(text),
  );
  if (line === undefined) return {};
  const effective = number([...line.matchAll(granted)].at(-1)?.groups?.['limit']);
  const asked = number(requested.exec(line)?.groups?.['limit']);
  return {
    ...(effective !== undefined && { effective }),
    ...(asked !== undefined && asked !== effective && { requested: asked }),
  };
}

function decodeGraphSizes(lines: readonly string[]): number[] | undefined {
  const list = lines.map((line) => graphSizes.exec(line)?.groups?.['sizes']).find(Boolean);
  if (list !== undefined) {
    const sizes = list.split(',').map((word) => Number(word.trim()));
    return sizes.filter((size) => Number.isInteger(size) && size > 0).sort((a, b) => a - b);
  }
  return lines.some((line) => graphsOff.test(line)) ? [] : undefined;
}

/**
 * Effective values that a start-up log prints, parsed loosely: words change between versions, and
 * a line may be missing (journald drops lines under load), so what is not found stays absent.
 */
export function startupValues(logLines: readonly string[]): StartupValues {
  // The line of all arguments repeats what was asked and would answer every question wrongly.
  const lines = logLines.filter((line) => !line.includes('server_args='));
  const ready = lines.findLast((line) => summary.test(line)) ?? '';
  const limit = notGrantedLimit(lines);
  const found = lines.map((line) => version.exec(line)?.groups).find(Boolean);
  const values: { [K in keyof StartupValues]: StartupValues[K] | undefined } = {
    version: found?.['version'] ?? found?.['quoted'],
    runningLimitPerWorker: field(ready, 'max_running_requests') ?? limit.effective,
    requestedRunningLimit: limit.requested,
    kvTokens: field(ready, 'max_total_num_tokens'),
    contextLength: field(ready, 'context_len'),
    chunkedPrefillSize: field(ready, 'chunked_prefill_size'),
    decodeGraphSizes: decodeGraphSizes(lines),
    attentionBackend: lines.map((line) => backend.exec(line)?.groups?.['backend']).find(Boolean),
    ignored: lines.filter((line) => ignoredSetting.test(line)),
  };
  return withoutUndefined(values) as StartupValues;
}

/** One of the lines a scheduler prints every `--decode-log-interval` (40) decode steps. */
export interface DecodeLine {
  readonly running: number;
  readonly queued: number;
  readonly tokensPerSecond: number;
  /** Whether the step replayed a captured graph; absent where the version does not say. */
  readonly usedGraph?: boolean;
  /** Output tokens per verify step, bonus included; absent without speculation. */
  readonly acceptLength?: number;
}

/** Reads a `Decode batch` line; undefined for any other line. */
export function decodeLine(line: string): DecodeLine | undefined {
  if (!/Decode batch\b/.test(line)) return undefined;
  const value = (pattern: RegExp) => number(pattern.exec(line)?.[1]);
  const running = value(/#running-req: (\d+)/);
  const tokensPerSecond = value(/gen throughput \(token\/s\): ([\d.]+)/);
  if (running === undefined || tokensPerSecond === undefined) return undefined;
  const graph = /(?:cuda|cpu|npu) graph: (True|False)/.exec(line)?.[1];
  const acceptLength = value(/accept len: ([\d.]+)/);
  return {
    running,
    queued: value(/#queue-req: (\d+)/) ?? 0,
    tokensPerSecond,
    ...(graph !== undefined && { usedGraph: graph === 'True' }),
    ...(acceptLength !== undefined && { acceptLength }),
  };
}
