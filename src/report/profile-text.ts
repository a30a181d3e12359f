import { percent } from './figures.ts';
import { binProfile } from './profile-binning.ts';
import type { ObservedLoad } from './profile-shares.ts';

/** Characters of the longest bar; the whole line fits 60 columns. */
const BAR_WIDTH = 30;

/** The load of production as a table with bars, and the profile it makes. */
export function profileReport(load: ObservedLoad): string {
  const profile = binProfile(load.secondsByConcurrency);
  const largest = Math.max(...profile.values());
  const rows = [...profile].map(([concurrency, share]) => {
    const bar = '#'.repeat(Math.max(1, Math.round((share / largest) * BAR_WIDTH)));
    return `${String(concurrency).padStart(9)}  ${percent(share).padStart(7)}  ${bar}`;
  });
  return [...factLines(load), '', 'in flight    share', ...rows, '', profileLine(profile)].join(
    '\n',
  );
}

/** The section of a study file, on one line. */
export function profileLine(profile: ReadonlyMap<number, number>): string {
  return `profile: ${profileMap(profile)}`;
}

/** `{ 1: 0.5, 4: 0.5 }` */
export function profileMap(profile: ReadonlyMap<number, number>): string {
  return `{ ${[...profile].map(([concurrency, share]) => `${concurrency}: ${share}`).join(', ')} }`;
}

/** The load as JSON; `seconds_by_concurrency` is not binned. */
export function profileJson(load: ObservedLoad) {
  return {
    profile: Object.fromEntries(binProfile(load.secondsByConcurrency)),
    seconds_by_concurrency: Object.fromEntries(load.secondsByConcurrency),
    busy_seconds: load.busySeconds,
    idle_seconds: load.idleSeconds,
    queued_seconds: load.queuedSeconds,
    samples: load.samples,
    period: load.period,
    requests: load.requests,
    mean_input_tokens: load.meanInputTokens,
    mean_output_tokens: load.meanOutputTokens,
  };
}

function factLines(load: ObservedLoad): readonly string[] {
  const { busySeconds, idleSeconds, queuedSeconds, period, requests } = load;
  const all = busySeconds + idleSeconds;
  const most = Math.max(...load.secondsByConcurrency.keys());
  const when = period === null ? '' : ` from ${period[0]} to ${period[1]}`;
  return [
    `${load.samples} samples${when}`,
    `serving ${percent(busySeconds / all)} of the time, idle the rest; at most ${most} in flight`,
    ...(queuedSeconds > 0
      ? [
          `requests waited in the server in ${percent(queuedSeconds / busySeconds)} of the serving time`,
        ]
      : []),
    ...(requests === null ? [] : [`${requests} requests arrived`]),
    ...lengthLines(load),
  ];
}

function lengthLines({ meanInputTokens, meanOutputTokens }: ObservedLoad): readonly string[] {
  if (meanInputTokens === null || meanOutputTokens === null) return [];
  return [
    `tokens per request: ${Math.round(meanInputTokens)} in, ${Math.round(meanOutputTokens)} out on average`,
  ];
}
