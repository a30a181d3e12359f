import type { Clock } from '../clock.ts';
import type { BudgetConfig } from '../config/study.ts';
import { mean } from '../metrics/statistics.ts';

/** Decides before each launch whether there is still budget for it. */
export interface Budget {
  /** False when this launch would leave too little for the `reserved` ones that must follow it. */
  allowsLaunch(reserved: number): boolean;
  /** Launches that still fit, as long as the mean so far; Infinity without a limit. */
  launchesLeft(): number;
  /** Seconds a launch took, start to stop: the next one is expected to take as long. */
  launchTook(seconds: number): void;
  readonly text: string;
}

/** Of the whole budget at most this is kept for confirming: a search needs its share too. */
const MOST_RESERVED_FRACTION = 0.5;

/**
 * Budget of one call of `sweep`.
 *
 * `until` and `hours` end when the next launch and the reserved ones would not end in time, judged
 * by the mean of the launches so far; `launches` counts those of this call. No more than half of
 * the whole is reserved. Without any of them every launch is allowed.
 *
 * @param earlierSeconds what the launches of earlier calls took: a sweep that goes on knows from
 *   the start how long one takes.
 */
export function createBudget(
  config: BudgetConfig,
  clock: Clock,
  earlierSeconds: readonly number[] = [],
): Budget {
  const startMs = clock.nowMs();
  const deadlineMs = deadlineOf(config, clock);
  const taken: number[] = [];
  const expected = () => mean([...earlierSeconds, ...taken]);
  const launchesLeft = (): number => {
    const byCount = config.launches === undefined ? Infinity : config.launches - taken.length;
    const seconds = expected();
    if (deadlineMs === undefined || seconds === undefined || seconds <= 0) {
      return deadlineMs !== undefined && clock.nowMs() >= deadlineMs ? 0 : byCount;
    }
    return Math.min(byCount, (deadlineMs - clock.nowMs()) / 1000 / seconds);
  };
  /** Launches of the whole budget, those taken included. */
  const whole = (): number => {
    const seconds = expected();
    const byTime =
      deadlineMs === undefined || seconds === undefined || seconds <= 0
        ? Infinity
        : (deadlineMs - startMs) / 1000 / seconds;
    return Math.min(config.launches ?? Infinity, byTime);
  };
  return {
    text: describe(config),
    launchTook: (seconds) => {
      taken.push(seconds);
    },
    launchesLeft,
    allowsLaunch: (reserved) => {
      const kept = Math.min(reserved, Math.floor(MOST_RESERVED_FRACTION * whole()));
      return launchesLeft() >= 1 + kept;
    },
  };
}

function deadlineOf(config: BudgetConfig, clock: Clock): number | undefined {
  const limits: number[] = [];
  if (config.hours !== undefined) limits.push(clock.nowMs() + config.hours * 3_600_000);
  if (config.until !== undefined) {
    limits.push(clock.nowMs() + msUntil(config.until, new Date(clock.wallMs())));
  }
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** ms from `now` to the next time the clock on the wall shows `HH:MM`, local time. */
export function msUntil(timeOfDay: string, now: Date): number {
  const [hours = 0, minutes = 0] = timeOfDay.split(':').map(Number);
  const end = new Date(now);
  end.setHours(hours, minutes, 0, 0);
  if (end <= now) end.setDate(end.getDate() + 1);
  return end.getTime() - now.getTime();
}

function describe({ until, hours, launches }: BudgetConfig): string {
  const parts = [
    until === undefined ? [] : [`until ${until}`],
    hours === undefined ? [] : [`${String(hours)} h`],
    launches === undefined ? [] : [`${String(launches)} launches`],
  ].flat();
  return parts.length === 0 ? 'no limit' : parts.join(', ');
}
