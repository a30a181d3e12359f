/** Names of drop-ins that hold a recommendation, in the order in which systemd applies them. */
const NAMES: readonly string[] = [
  ...['zz', 'zzz'].flatMap((start) =>
    ['', 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${start}-nightsweep${String(number)}.conf`),
  ),
  // Still before a sweep's own, which is zzzz-nightsweep.conf.
  'zzzz-nightsweep-applied.conf',
];

/**
 * Name for the drop-in of a recommendation: systemd applies drop-ins by file name over all folders,
 * so it must come after every other; undefined when no name of ours does.
 *
 * The names are few and fixed, so that sudoers can list the commands that write them.
 */
export function recommendationName(others: readonly string[]): string | undefined {
  return NAMES.find((name) => others.every((other) => other < name));
}

/** Whether a drop-in of this name holds a recommendation of ours. */
export function isRecommendationName(name: string): boolean {
  return NAMES.includes(name);
}
