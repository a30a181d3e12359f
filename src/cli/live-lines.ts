import { mean } from '../metrics/statistics.ts';
import { signedPercent } from '../report/figures.ts';
import type { StudyEvent } from '../study/events.ts';

type Of<T extends StudyEvent['type']> = Extract<StudyEvent, { readonly type: T }>;

/** What the live view needs of the study. */
export interface LiveContext {
  /** Shares by concurrency: weights of "best so far". Empty: all concurrencies count alike. */
  readonly profile: ReadonlyMap<number, number>;
  /** Name of a trial as its launch line shows it. */
  readonly nameOf: (event: Of<'launch-started'>) => string;
}

/**
 * What a sweep is doing, as a few lines that are drawn over: current trial and phase, the last
 * measurement, the best so far, what is left and on what that rests, the last warning.
 */
export class LiveLines {
  readonly #context: LiveContext;
  readonly #startedAtMs: number;
  /** Log ratios to the baseline of each trial, by concurrency. */
  readonly #ratios = new Map<number, Map<number, number[]>>();
  readonly #names = new Map<number, string>();
  readonly #launchMs: number[] = [];
  #launch = 0;
  #launchesLeft = 0;
  #launchStartedAtMs: number | undefined;
  #current = '';
  #phase = '';
  #last = '';
  #warning = '';

  constructor(context: LiveContext, nowMs: number) {
    this.#context = context;
    this.#startedAtMs = nowMs;
  }

  take(event: StudyEvent, nowMs: number): void {
    switch (event.type) {
      case 'planned':
        this.#launchesLeft = event.launches;
        break;
      case 'launch-started':
        this.#launchStarted(event, nowMs);
        break;
      case 'stage': {
        const { stage, done, total } = event.progress;
        this.#phase = done === undefined ? stage : `${stage} ${done}/${total ?? '?'}`;
        break;
      }
      case 'measuring':
        this.#phase = `${event.phase === 'measure' ? 'measuring' : 'warming up'} C=${event.concurrency}`;
        break;
      case 'load': {
        const { ended, total, failed } = event.progress;
        const bad = failed === 0 ? '' : `, ${failed} failed`;
        this.#phase = `C=${event.concurrency}: ${ended}/${total} requests${bad}`;
        break;
      }
      case 'measured':
        this.#measured(event);
        break;
      case 'trial-ended':
        if (event.state !== 'completed' && event.state !== 'skipped') {
          this.#warning = `#${event.trial} ${event.state}: ${event.reason ?? event.cause ?? ''}`;
        }
        break;
      case 'jump':
        this.#warning = `the baseline changed by ${signedPercent(event.changeFraction)}`;
        break;
      case 'notice':
        this.#warning = event.text;
        break;
      case 'no-effect':
      case 'cleaned-up':
      case 'ready':
      case 'finalists':
      case 'confirmed':
        break;
    }
  }

  /** At most five lines, no longer than `columns`. */
  lines(nowMs: number, columns: number): readonly string[] {
    const lines = [
      `launch ${this.#launch}  ${this.#current}`,
      `  ${this.#phase}`,
      ...(this.#last === '' ? [] : [`  last: ${this.#last}`]),
      `  ${[this.#best(), this.#left(nowMs)].filter((part) => part !== '').join('  |  ')}`,
      ...(this.#warning === '' ? [] : [`  warning: ${this.#warning}`]),
    ];
    const width = Math.max(10, columns - 1);
    return lines.map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line));
  }

  #launchStarted(event: Of<'launch-started'>, nowMs: number): void {
    if (this.#launchStartedAtMs !== undefined) {
      this.#launchMs.push(nowMs - this.#launchStartedAtMs);
    }
    this.#launchStartedAtMs = nowMs;
    this.#launch = event.launch;
    this.#launchesLeft = event.launchesLeft;
    this.#current = this.#context.nameOf(event);
    this.#names.set(event.trial, event.isBaseline ? 'baseline' : `#${event.trial}`);
    this.#phase = 'starting';
  }

  #measured({ trial, concurrency, metrics, changeFraction }: Of<'measured'>): void {
    const change = changeFraction === null ? '' : ` ${signedPercent(changeFraction)}`;
    const name = this.#names.get(trial) ?? `#${trial}`;
    const speed = metrics.outputTokensPerSecond.toFixed(1);
    this.#last = `${name} C=${concurrency} ${speed} tok/s${change}`;
    if (changeFraction === null) return;
    const own = this.#ratios.get(trial) ?? new Map<number, number[]>();
    own.set(concurrency, [...(own.get(concurrency) ?? []), Math.log1p(changeFraction)]);
    this.#ratios.set(trial, own);
  }

  /** Best relative score of the trials that are measured at the whole profile; noise not considered. */
  #best(): string {
    let [best, bestScore] = [0, Number.NEGATIVE_INFINITY];
    for (const [trial, ratios] of this.#ratios) {
      const score = this.#score(ratios);
      if (score !== undefined && score > bestScore) [best, bestScore] = [trial, score];
    }
    return best === 0 ? '' : `best so far: #${best} ${signedPercent(Math.expm1(bestScore))}`;
  }

  #score(ratios: ReadonlyMap<number, readonly number[]>): number | undefined {
    let score = 0;
    for (const [concurrency, weight] of this.#context.profile) {
      if (weight === 0) continue;
      const ratio = mean(ratios.get(concurrency) ?? []);
      if (ratio === undefined) return undefined;
      score += weight * ratio;
    }
    return this.#context.profile.size === 0 ? undefined : score;
  }

  #left(nowMs: number): string {
    const ran = `${duration(nowMs - this.#startedAtMs)} so far`;
    const launches = `${this.#launchesLeft} launches left`;
    const each = mean(this.#launchMs);
    if (each === undefined) return `${launches}, ${ran}`;
    const inLaunch = nowMs - (this.#launchStartedAtMs ?? nowMs);
    const leftMs = Math.max(0, each * this.#launchesLeft - inLaunch);
    return `${launches}, about ${duration(leftMs)} (${duration(each)} each so far), ${ran}`;
  }
}

/** `45 s`, `12 min`, `3 h 05 min`. */
function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}
