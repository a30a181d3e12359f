/** How far a start came, in the order in which SGLang passes through. */
export const startupStages = [
  'silent',
  'importing',
  'arguments',
  'distributed',
  'weights',
  'memory-pools',
  'graph-capture',
  'scheduler-ready',
  'http',
  'warm-up',
  'ready',
] as const;

export type StartupStage = (typeof startupStages)[number];

/** Stage reached, and progress inside it where the server prints any (`capture 3/23`). */
export interface StartupProgress {
  readonly stage: StartupStage;
  readonly done?: number;
  readonly total?: number;
}

/** Lines that show that a stage was reached; words of several versions (0.4.9 to 0.5.23). */
const stageMarks: readonly (readonly [StartupStage, RegExp])[] = [
  ['arguments', /server_args=/],
  ['distributed', /Init (?:torch distributed|parallel) begin|Init torch distributed/],
  ['weights', /Load weight begin|Loading (?:safetensors|pt) checkpoint shards|loading shards/i],
  [
    'memory-pools',
    /Load weight end|(?:KV|Mamba) Cache is allocated|Memory pool end|max_mamba_cache_size: \d/,
  ],
  ['graph-capture', /Capture .*(?:cuda|cpu) graph.* begin|Capturing batches|Capture cuda graph/i],
  ['scheduler-ready', /max_total_num_tokens=\d+.*max_running_requests=/],
  ['http', /Started server process|Uvicorn running on|Waiting for application startup/],
  ['warm-up', /"GET \/(?:get_)?model_info HTTP|Start of .*warmup|Prefill batch/],
  ['ready', /The server is fired up and ready to roll!|server is listening on http/],
];

/** tqdm: `Capturing batches (bs=32 avail_mem=9.1 GB):  4%|▍ | 1/23 [00:01<…]`; `25% Completed | 1/4`. */
const progressBar = /(?:Capturing|shards|autotun)[^|]*\|[^|]*?\|?\s*(\d+)\/(\d+)\s*\[/i;

/** A progress bar rewrites its line with carriage returns: each rewriting counts as a line. */
function pieces(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split('\r')).filter((piece) => piece.trim() !== '');
}

/**
 * Furthest stage that a start-up log shows, with the progress printed there.
 *
 * `silent`: nothing was printed. The HTTP port is bound after the model is loaded, so nothing but
 * the log tells how far a start is.
 */
export function startupProgress(logLines: readonly string[]): StartupProgress {
  let stage = 0;
  let progress: { done: number; total: number } | undefined;
  for (const line of pieces(logLines)) {
    stage = Math.max(stage, 1);
    const marked = stageMarks.findLast(([, mark]) => mark.test(line))?.[0];
    const reached = marked === undefined ? 0 : startupStages.indexOf(marked);
    if (reached > stage) progress = undefined;
    stage = Math.max(stage, reached);
    const bar = progressBar.exec(line);
    if (bar !== null) progress = { done: Number(bar[1]), total: Number(bar[2]) };
  }
  return { stage: startupStages[stage] ?? 'silent', ...progress };
}

/** Furthest stage that a start-up log shows. */
export function startupStage(logLines: readonly string[]): StartupStage {
  return startupProgress(logLines).stage;
}
