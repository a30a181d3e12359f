import type { Clock } from '../clock.ts';
import type { BudgetConfig } from '../config/study.ts';
import { mean } from '../metrics/statistics.ts';

/** Decides before each launch whether there is still budget for it. */
export interface Budget {
  /** False when this launch would leave too little for the `reserved` ones that must follow it. */
  allowsLaunch(reserved: number): boolean;
  /** Seconds a launch took, start to stop: the next one is expected to take as long. */
  launchTook(seconds: number): void;
  readonly text: string;
}

/**
 * Budget of one call of `sweep`.
 *
 * `until` and `hours` end when the next launch and the reserved ones would not end in time, judged
 * by the mean of the launches so far; `launches` counts those of this call. Without any of them
 * every launch is allowed.
 */
export function createBudget(config: BudgetConfig, clock: Clock): Budget {
  const deadlineMs = deadlineOf(config, clock);
  const taken: number[] = [];
  return {
    text: describe(config),
    launchTook: (seconds) => {
      taken.push(seconds);
    },
    allowsLaunch: (reserved) => {
      const left = config.launches === undefined ? Infinity : config.launches - taken.length;
      // A budget too small for any confirmation is still spent, on the search.
      const kept = left > reserved ? reserved : 0;
      if (left < 1 + kept) return false;
      if (deadlineMs === undefined) return true;
      const seconds = mean(taken) ?? 0;
      return clock.nowMs() + seconds * (1 + reserved) * 1000 <= deadlineMs;
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
