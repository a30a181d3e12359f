import { decide } from '../ranking/decide.ts';
import { rankTrials } from '../ranking/rank-trials.ts';
import type { Profile } from '../ranking/score.ts';
import type { TrialData } from '../ranking/trial-data.ts';
import type { StoredLaunch, StoredStudy } from '../storage/study-store.ts';
import { signedPercent, speed } from './figures.ts';
import { intervalText, scoreText } from './ranking-table.ts';

/** One side of a comparison: a trial of a study. */
export interface ComparedTrial {
  readonly study: StoredStudy;
  readonly data: TrialData;
  /** Of this trial. */
  readonly launches: readonly StoredLaunch[];
  readonly isSimulated: boolean;
}

/** Something in which two sides differ and that also changes speed. */
export interface Difference {
  readonly what: string;
  readonly a: string;
  readonly b: string;
  /** Without the same work there is nothing to compare. */
  readonly forbids: boolean;
}

/** What stands between two trials besides their flags; differences that forbid come first. */
export function differencesOf(a: ComparedTrial, b: ComparedTrial): readonly Difference[] {
  const keys = new Set([...Object.keys(a.study.workload), ...Object.keys(b.study.workload)]);
  const all = [
    ...[...keys].map((key) => ({
      what: `workload.${key}`,
      a: JSON.stringify(a.study.workload[key] ?? null),
      b: JSON.stringify(b.study.workload[key] ?? null),
      forbids: true,
    })),
    pair('model', modelOf(a.study), modelOf(b.study), true),
    // Figures of a simulated server say nothing beside those of a machine.
    pair('server', serverKind(a), serverKind(b), true),
    pair('throughput', throughputOf(a.data), throughputOf(b.data), false),
    versionPair(versionsOf(a.launches), versionsOf(b.launches)),
    pair('prompt seed', String(a.study.seed), String(b.study.seed), false),
    ...hardwareDifferences(a.launches, b.launches),
  ];
  return all.filter((one) => one.a !== one.b);
}

function pair(what: string, a: string, b: string, forbids: boolean): Difference {
  return { what, a, b, forbids };
}

/** Rows of two known versions are not ranked together unless somebody insists. */
function versionPair(a: string, b: string): Difference {
  return pair('SGLang version', a, b, a !== UNKNOWN && b !== UNKNOWN);
}

const UNKNOWN = 'unknown';

function modelOf({ baselineArgv }: StoredStudy): string {
  const at = baselineArgv.findIndex((word) => /^--model(?:-path)?(?:=|$)/.test(word));
  const word = baselineArgv[at];
  return word?.includes('=') === true
    ? word.slice(word.indexOf('=') + 1)
    : (baselineArgv[at + 1] ?? 'unknown');
}

function serverKind({ isSimulated }: ComparedTrial): string {
  return isSimulated ? 'simulated' : 'real';
}

function throughputOf({ cells }: TrialData): string {
  const kinds = new Set([...cells.values()].flat().map(({ throughputKind }) => throughputKind));
  return [...kinds].sort().join(' and ');
}

function versionsOf(launches: readonly StoredLaunch[]): string {
  const known = new Set(launches.flatMap(({ sglangVersion }) => sglangVersion ?? []));
  return known.size === 0 ? UNKNOWN : [...known].sort().join(', ');
}

/** Drivers, kernel packages and GPUs, as far as launches recorded them. */
function hardwareDifferences(
  a: readonly StoredLaunch[],
  b: readonly StoredLaunch[],
): readonly Difference[] {
  const names = new Set([...a, ...b].flatMap(({ versions }) => Object.keys(versions)));
  const of = (launches: readonly StoredLaunch[], name: string) =>
    [...new Set(launches.map(({ versions }) => versions[name] ?? 'unknown'))].join(', ');
  return [...names].map((name) => pair(name, of(a, name), of(b, name), false));
}

/**
 * B against A at the given profile: score with interval, and each concurrency; `decide` says
 * whether B beats A beyond noise. A takes the baseline's place.
 *
 * @throws UserError when one of them is not measured at the profile.
 */
export function comparisonText(
  a: ComparedTrial,
  b: ComparedTrial,
  profile: Profile,
  names: readonly [string, string],
): string {
  const ranking = rankTrials({
    trials: [
      { ...a.data, trial: 0, isBaseline: true },
      { ...withOwnLaunches(b.data), trial: 1, isBaseline: false },
    ],
    profile,
    scoreKind: 'relative',
  });
  const second = ranking.trials.find(({ trial }) => trial === 1);
  if (second === undefined) throw new Error('a comparison has two sides');
  const rows = [...second.perConcurrency].map(([concurrency, cell]) => {
    const own = cell.outputTokensPerSecond;
    const other = cell.changeFraction === null ? null : own / (1 + cell.changeFraction);
    const change = cell.changeFraction === null ? '-' : signedPercent(cell.changeFraction);
    return `  C=${String(concurrency).padEnd(5)}${(other === null ? '-' : speed(other)).padStart(9)}${speed(own).padStart(9)}  ${change}`;
  });
  const verdict = {
    winner: `${names[1]} is faster beyond noise`,
    keep: second.tiedWith.length > 0 ? 'not distinguishable' : `${names[1]} is slower beyond noise`,
    'nothing-feasible': 'neither can be ranked',
  }[decide(ranking).kind];
  return [
    `A: ${names[0]}`,
    `B: ${names[1]}`,
    '',
    `B over A: ${scoreText(ranking, second.score)} (${intervalText(ranking, second)})`,
    `tok/s          A        B  B over A`,
    ...rows,
    '',
    verdict,
  ].join('\n');
}

/** Two databases number their launches alike; noise between launches must not mix them up. */
function withOwnLaunches(data: TrialData): TrialData {
  const cells = [...data.cells].map(([concurrency, samples]) => {
    const own = samples.map((sample) => ({ ...sample, launchId: -1 - sample.launchId }));
    return [concurrency, own] as const;
  });
  return { ...data, cells: new Map(cells) };
}
