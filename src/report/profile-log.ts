import { type CountWhat, LoadShares, type ObservedLoad } from './profile-shares.ts';

/**
 * Longest time that one line stands for. A line comes every 40 decode steps, at most some seconds
 * apart even with large batches; what is longer was idle.
 */
const LONGEST_GAP_SECONDS = 10;

/** `[2026-11-30 18:17:37 DP0 TP0] `: SGLang's own stamp, also inside a journal's line. */
const STAMP = /\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d+)?(?: ([^\]]*))?\]/;
const ARRIVAL = /"POST \/(?:generate|v1\/(?:chat\/)?completions) HTTP/;
const RUNNING = '#running-req: ';
const QUEUED = '#queue-req: ';

export interface LogPeriod {
  /** Inclusive, `2026-11-30 18:00:00` or a beginning of it, in the log's own time. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
}

/**
 * Reads the load from lines of SGLang's log or its journal, one pass, memory that does not grow.
 *
 * A "Decode batch" line tells how many requests were decoded since the line before, so it stands
 * for the time since then, at most 10 s; lines of one second share the time to it. With data
 * parallel ranks their latest figures are added up.
 */
export class LogLoadReader {
  readonly #shares: LoadShares;
  readonly #period: LogPeriod;
  readonly #ranks = new Map<string, Rank>();
  #second: { readonly stamp: string; readonly at: number; samples: Sample[] } | undefined;
  #lastAt: number | undefined;
  #first: string | undefined;
  #requests = 0;

  constructor(what: CountWhat = 'in-flight', period: LogPeriod = {}) {
    this.#shares = new LoadShares(what);
    this.#period = period;
  }

  line(text: string): void {
    if (!text.includes('Decode batch')) {
      if (text.includes('"POST /') && ARRIVAL.test(text)) this.#arrival(text);
      return;
    }
    const running = numberAfter(text, RUNNING);
    const stamp = STAMP.exec(text);
    const moment = stamp?.[1];
    if (running === undefined || moment === undefined || !this.#inPeriod(moment)) return;
    this.#sample(moment, rankOf(stamp?.[2]), { running, queued: numberAfter(text, QUEUED) ?? 0 });
  }

  result(): ObservedLoad {
    this.#endSecond();
    const last = this.#second?.stamp;
    this.#second = undefined;
    return this.#shares.result({
      period: this.#first === undefined || last === undefined ? null : [this.#first, last],
      requests: this.#requests === 0 ? null : this.#requests,
    });
  }

  /** The access log has a stamp in some versions only; without one it counts. */
  #arrival(text: string): void {
    const moment = STAMP.exec(text)?.[1];
    if (moment === undefined || this.#inPeriod(moment)) this.#requests += 1;
  }

  #inPeriod(moment: string): boolean {
    const { since, until } = this.#period;
    return (since === undefined || moment >= since) && (until === undefined || moment < until);
  }

  #sample(stamp: string, rank: string, own: Sample): void {
    if (this.#second?.stamp !== stamp) {
      this.#endSecond();
      this.#second = { stamp, at: secondsOf(stamp), samples: [] };
      this.#first ??= stamp;
    }
    const { at, samples } = this.#second;
    this.#ranks.set(rank, { ...own, at });
    let [running, queued] = [0, 0];
    for (const known of this.#ranks.values()) {
      if (at - known.at > LONGEST_GAP_SECONDS) continue;
      running += known.running;
      queued += known.queued;
    }
    samples.push({ running, queued });
  }

  #endSecond(): void {
    if (this.#second === undefined) return;
    const { at, samples } = this.#second;
    // Before the first line nothing is known: it stands for the second it was printed in.
    const gap = this.#lastAt === undefined ? 1 : Math.max(0, at - this.#lastAt);
    const seconds = Math.min(gap, LONGEST_GAP_SECONDS);
    for (const sample of samples) {
      this.#shares.add({ ...sample, seconds: seconds / samples.length });
    }
    this.#shares.idle(gap - seconds);
    this.#lastAt = at;
  }
}

interface Sample {
  readonly running: number;
  readonly queued: number;
}

interface Rank extends Sample {
  readonly at: number;
}

/** `DP0 TP0` -> `DP0`: tensor-parallel ranks report the same requests. */
function rankOf(prefix: string | undefined): string {
  return /\bDP\d+/.exec(prefix ?? '')?.[0] ?? '';
}

/** A regular expression here doubles the time of a day's log. */
function numberAfter(text: string, name: string): number | undefined {
  const at = text.indexOf(name);
  if (at < 0) return undefined;
  const value = Number.parseInt(text.slice(at + name.length, at + name.length + 9), 10);
  return Number.isNaN(value) ? undefined : value;
}

let lastDay = { text: '', seconds: 0 };

/** Seconds of a stamp, read as UTC: only differences are used. The day is parsed once. */
function secondsOf(stamp: string): number {
  const day = stamp.slice(0, 10);
  if (lastDay.text !== day) lastDay = { text: day, seconds: Date.parse(`${day}T00:00:00Z`) / 1000 };
  const hours = Number(stamp.slice(11, 13));
  const minutes = Number(stamp.slice(14, 16));
  return lastDay.seconds + hours * 3600 + minutes * 60 + Number(stamp.slice(17, 19));
}
