export interface DiffNames {
  readonly from: string;
  readonly to: string;
}

interface DiffLine {
  readonly kind: ' ' | '-' | '+';
  readonly text: string;
  /** Lines of either text in front of this one. */
  readonly oldBefore: number;
  readonly newBefore: number;
}

/** Unchanged lines shown around a change, as `diff -u` does. */
const CONTEXT_LINES = 3;

/**
 * Difference of two texts in unified format (readable by `patch`); empty when they are equal.
 *
 * Longest common subsequence over lines, quadratic in their number: meant for unit files.
 */
export function unifiedDiff(from: string, to: string, names: DiffNames): string {
  if (from === to) return '';
  const lines = diffLines(splitLines(from), splitLines(to));
  const hunks = groupHunks(lines).map(formatHunk);
  return `--- ${names.from}\n+++ ${names.to}\n${hunks.join('')}`;
}

/** Lines with their breaks, so that a missing one at the end is a difference. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function diffLines(from: readonly string[], to: readonly string[]): DiffLine[] {
  const common = commonLengths(from, to);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < from.length || j < to.length) {
    const place = { oldBefore: i, newBefore: j };
    const [a, b] = [from[i], to[j]];
    if (a !== undefined && a === b) {
      lines.push({ kind: ' ', text: a, ...place });
      i += 1;
      j += 1;
    } else if (
      a !== undefined &&
      (b === undefined || at(common, i + 1, j) >= at(common, i, j + 1))
    ) {
      lines.push({ kind: '-', text: a, ...place });
      i += 1;
    } else {
      lines.push({ kind: '+', text: b ?? '', ...place });
      j += 1;
    }
  }
  return lines;
}

/** Length of the longest common subsequence of the rests `from[i..]` and `to[j..]`. */
function commonLengths(from: readonly string[], to: readonly string[]): number[][] {
  const table = Array.from({ length: from.length + 1 }, () => Array<number>(to.length + 1).fill(0));
  for (let i = from.length - 1; i >= 0; i--) {
    const row = table[i] ?? [];
    for (let j = to.length - 1; j >= 0; j--) {
      row[j] =
        from[i] === to[j]
          ? at(table, i + 1, j + 1) + 1
          : Math.max(at(table, i + 1, j), at(table, i, j + 1));
    }
  }
  return table;
}

function at(table: readonly (readonly number[])[], i: number, j: number): number {
  return table[i]?.[j] ?? 0;
}

function groupHunks(lines: readonly DiffLine[]): DiffLine[][] {
  const hunks: DiffLine[][] = [];
  let end = -1;
  for (const [i, { kind }] of lines.entries()) {
    if (kind === ' ') continue;
    const start = Math.max(0, i - CONTEXT_LINES, end);
    const stop = Math.min(lines.length, i + CONTEXT_LINES + 1);
    const added = lines.slice(start, stop);
    const current = hunks.at(-1);
    if (current !== undefined && i - CONTEXT_LINES <= end) current.push(...added);
    else hunks.push(added);
    end = stop;
  }
  return hunks;
}

function formatHunk(lines: readonly DiffLine[]): string {
  const [first] = lines;
  const oldCount = lines.filter(({ kind }) => kind !== '+').length;
  const newCount = lines.filter(({ kind }) => kind !== '-').length;
  const body = lines.map(({ kind, text }) =>
    text.endsWith('\n') ? kind + text : `${kind}${text}\n\\ No newline at end of file\n`,
  );
  const range = (before: number, count: number): string =>
    `${count === 0 ? before : before + 1}${count === 1 ? '' : `,${count}`}`;
  const header = `@@ -${range(first?.oldBefore ?? 0, oldCount)} +${range(first?.newBefore ?? 0, newCount)} @@\n`;
  return header + body.join('');
}
