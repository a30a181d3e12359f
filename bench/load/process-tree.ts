import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** CPU seconds and resident bytes of a process and all its descendants, ended ones included. */
export interface TreeUse {
  readonly atMs: number;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
  readonly pages: number;
}

function stats(): Stat[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      const at = (field: number): number => Number(fields[field - 3]);
      // utime, stime and those of children that were waited for.
      const ticks = at(14) + at(15) + at(16) + at(17);
      return [{ pid: Number(name), parent: at(4), ticks, pages: at(24) }];
    } catch {
      // Ended between the two reads.
      return [];
    }
  });
}

/** What the tree of `root` has used until now. */
export function treeUse(root: number): TreeUse {
  const all = stats();
  const tree = new Set([root]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const { pid, parent } of all) {
      if (tree.has(parent) && !tree.has(pid)) grown = Boolean(tree.add(pid));
    }
  }
  const members = all.filter(({ pid }) => tree.has(pid));
  const sum = (of: (stat: Stat) => number): number =>
    members.reduce((total, stat) => total + of(stat), 0);
  return {
    atMs: performance.timeOrigin + performance.now(),
    cpuSeconds: sum(({ ticks }) => ticks) / TICKS_PER_SECOND,
    residentBytes: sum(({ pages }) => pages) * PAGE_BYTES,
  };
}

/** CPU seconds used by a moment, between samples by straight line. */
export function cpuAt(samples: readonly TreeUse[], atMs: number): number {
  const after = samples.findIndex((sample) => sample.atMs >= atMs);
  if (after <= 0) return (after === 0 ? samples[0] : samples.at(-1))?.cpuSeconds ?? 0;
  const [a, b] = [samples[after - 1], samples[after]];
  if (a === undefined || b === undefined) return 0;
  const share = (atMs - a.atMs) / Math.max(1, b.atMs - a.atMs);
  return a.cpuSeconds + (b.cpuSeconds - a.cpuSeconds) * share;
}
