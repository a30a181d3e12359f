import type { Clock } from '../clock.ts';
import type { RunningServer, ServerExit } from './target.ts';

/** How long a start may take. */
export interface ReadinessLimits {
  /** The wait ends when the log did not grow for this long. */
  readonly stallSeconds: number;
  /** The wait ends after this long, whatever the log does. */
  readonly totalSeconds: number;
  /**
   * From here on only progress keeps the wait going: a further stage, a further step of one.
   * Other lines do not, such as a library that reports every minute that it still waits.
   */
  readonly expectedSeconds?: number;
}

/** Why a server did not become ready. */
export type NotReadyReason =
  /** The process ended, with whatever status. */
  | 'exited'
  /** A limit passed, and nothing accepted a request yet. */
  | 'stalled'
  | 'total-limit'
  /** A limit passed while the server accepted requests, but no completion succeeded. */
  | 'completion-failed'
  /** The completion was answered by a process that is not of this launch. */
  | 'foreign-server';

/** How a wait for a server ended. `seconds` counts from the start of the process. */
export type Readiness =
  | { readonly state: 'ready'; readonly seconds: number }
  | {
      readonly state: 'not-ready';
      readonly why: NotReadyReason;
      readonly seconds: number;
      readonly exit?: ServerExit;
      /** What the last completion failed with. */
      readonly lastError?: string;
      readonly logTail: readonly string[];
    };

export interface WaitOptions {
  readonly server: RunningServer;
  /**
   * A real completion of several tokens, with a time limit of its own; rejects when none came.
   * A health route says 200 for an hour after the scheduler died (field report A5), so it is no
   * substitute.
   */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  readonly limits: ReadinessLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called when the log has grown, at most four times a second. */
  readonly onProgress?: () => void;
  /** How far the start is, as text that changes with every step; needed for `expectedSeconds`. */
  readonly progress?: () => string;
  /** Lines of log in a not-ready answer. */
  readonly logLines?: number;
}

const POLL_MS = 250;
/** Between the end of one probe and the next. */
const PROBE_PAUSE_MS = 1000;
/** A shard of a large model from a slow disk, or one graph, takes less than this. */
const STEP_SECONDS = 120;
const DEFAULT_LOG_LINES = 60;

/**
 * Waits until the server has answered a real completion.
 *
 * An exit ends the wait at once. While the log grows the wait goes on, up to `expectedSeconds` with
 * any line and up to the total limit with real progress, so that a slow load with a progress bar is
 * not cut short (field report A12), a silent hang does not last as long as the slowest good start
 * (A10), and a library's own timeout of half an hour is not waited for (A11).
 *
 * Rejects with the signal's reason when interrupted; the server is left running.
 */
export async function waitUntilReady(options: WaitOptions): Promise<Readiness> {
  const { server, limits, clock, signal } = options;
  const prober = new Prober(options);
  let logBytes = server.logBytes();
  const moments = { startedAtMs: server.startedAtMs, logMs: clock.nowMs(), stepMs: clock.nowMs() };
  let progress = '';
  let ownLines: OwnLines = { newest: '', count: 0 };
  const notReady = (why: NotReadyReason): Readiness => {
    const exit = server.exit();
    return {
      state: 'not-ready',
      why,
      seconds: secondsSince(server.startedAtMs, clock),
      ...(exit === undefined ? {} : { exit }),
      ...(prober.lastError === undefined ? {} : { lastError: prober.lastError }),
      logTail: server.logTail(options.logLines ?? DEFAULT_LOG_LINES),
    };
  };

  try {
    for (;;) {
      signal.throwIfAborted();
      if (server.exit() !== undefined) return notReady('exited');
      // A completion may have come from a server that has ended by now: the exit goes first.
      if (prober.succeeded) {
        if (server.portOwner?.() === 'foreign') return notReady('foreign-server');
        return { state: 'ready', seconds: secondsSince(server.startedAtMs, clock) };
      }
      if (server.logBytes() > logBytes) {
        logBytes = server.logBytes();
        const own = ownLinesSince(ownLines, server);
        if (own !== ownLines) moments.logMs = clock.nowMs();
        ownLines = own;
        const now = options.progress?.() ?? '';
        if (now !== progress) moments.stepMs = clock.nowMs();
        progress = now;
        options.onProgress?.();
      }
      const limit = passedLimit(moments, limits, clock);
      if (limit !== undefined) return notReady(prober.wasAccepted ? 'completion-failed' : limit);
      prober.poke();
      await Promise.race([clock.sleep(POLL_MS, signal), server.exited, prober.settled]);
    }
  } finally {
    await prober.stop();
  }
}

/** Lines that uvicorn prints for requests, our own probes among them. */
const ACCESS_LINE = /"(?:GET|POST|HEAD|PUT|DELETE) \S+ HTTP\/[\d.]+" \d{3}/;
/** A server that answers nothing but errors prints two lines a second; looked back for minutes. */
const OWN_LINE_SEARCH = 400;

/** What the log shows of the server itself: lines for requests are left out. */
interface OwnLines {
  readonly newest: string;
  /** In the lines that are looked at. */
  readonly count: number;
}

/**
 * What the server itself has printed when it printed anything since `before`, else `before`: one
 * that answers 503 for ever logs each of our probes, which is no progress.
 */
function ownLinesSince(before: OwnLines, server: RunningServer): OwnLines {
  const lines = server.logTail(OWN_LINE_SEARCH);
  // Less than a line was printed so far: a progress bar that draws its first.
  if (lines.length === 0) return { newest: '', count: server.logBytes() };
  const own = lines.filter((line) => !ACCESS_LINE.test(line));
  const now = { newest: own.at(-1) ?? before.newest, count: own.length };
  // A line that is repeated is one more; fewer are left only as old ones drop out of sight.
  return now.newest !== before.newest || now.count > before.count ? now : before;
}

/** Moments of a wait, ms of the clock: start, last line of the log, last step of progress. */
interface Moments {
  readonly startedAtMs: number;
  readonly logMs: number;
  readonly stepMs: number;
}

function passedLimit(
  { startedAtMs, logMs, stepMs }: Moments,
  { stallSeconds, totalSeconds, expectedSeconds = totalSeconds }: ReadinessLimits,
  clock: Clock,
): 'stalled' | 'total-limit' | undefined {
  const seconds = secondsSince(startedAtMs, clock);
  if (seconds >= totalSeconds) return 'total-limit';
  if (secondsSince(logMs, clock) >= stallSeconds) return 'stalled';
  const stepSeconds = Math.min(stallSeconds, STEP_SECONDS);
  const isStuck = secondsSince(stepMs, clock) >= stepSeconds;
  return seconds >= expectedSeconds && isStuck ? 'total-limit' : undefined;
}

function secondsSince(thenMs: number, clock: Clock): number {
  return (clock.nowMs() - thenMs) / 1000;
}

/** Runs one probe at a time, with a pause in between, and remembers how the last one failed. */
class Prober {
  readonly #probe: WaitOptions['probe'];
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;
  #nextAtMs = 0;
  #startedAtMs = 0;
  succeeded = false;
  lastError: string | undefined;
  #wasRefused = true;

  constructor({ probe, clock }: WaitOptions) {
    this.#probe = probe;
    this.#clock = clock;
    this.#nextAtMs = clock.nowMs();
  }

  /** Resolves when the running probe ends; never when none runs. */
  get settled(): Promise<void> {
    return this.#running ?? new Promise(() => undefined);
  }

  /** Whether the server took a request: the last probe was not refused, or hangs since seconds. */
  get wasAccepted(): boolean {
    if (this.#running === undefined) return !this.#wasRefused;
    const hangsMs = this.#clock.nowMs() - this.#startedAtMs;
    return !this.#wasRefused || hangsMs >= PROBE_PAUSE_MS;
  }

  /** Starts the next probe when it is time for one. */
  poke(): void {
    if (this.#running !== undefined || this.#clock.nowMs() < this.#nextAtMs) return;
    this.#startedAtMs = this.#clock.nowMs();
    this.#running = this.#run();
  }

  /** Ends a probe that still runs. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#probe(this.#abort.signal);
      this.succeeded = true;
    } catch (error) {
      // Any failure means "not yet": what it was is told when a limit ends the wait.
      if (!this.#abort.signal.aborted) {
        this.lastError = error instanceof Error ? error.message : String(error);
        this.#wasRefused = isRefusal(error);
      }
    }
    this.#nextAtMs = this.#clock.nowMs() + PROBE_PAUSE_MS;
    this.#running = undefined;
  }
}

/** Whether nobody took the connection; the reason may lie below wrapping errors. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && error.code === 'ECONNREFUSED') return true;
  if (error instanceof AggregateError) return error.errors.some(isRefusal);
  return isRefusal(error.cause);
}
