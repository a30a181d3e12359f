import { Command } from '@commander-js/extra-typings';
import { UserError } from '../errors.ts';
import { EXPLANATION_KINDS, type Explanation } from '../report/explanations.ts';
import { nearestName } from '../search-space/nearest-name.ts';
import { failureSignatures } from '../sglang/failure-signatures.ts';
import type { CliContext } from './context.ts';

interface Entry extends Explanation {
  readonly kind: string;
  readonly word: string;
}

const entries: readonly Entry[] = Object.entries(EXPLANATION_KINDS).flatMap(([kind, words]) =>
  Object.entries(words).map(([word, explanation]: [string, Explanation]) => ({
    kind,
    word,
    ...explanation,
  })),
);

/** `explain`: what a mark, a cause of failure or a metric means. */
export function explainCommand(context: CliContext) {
  return new Command('explain')
    .summary('explain a mark, a cause of failure or a metric')
    .description(
      'Explains a word of a report: a mark, a cause of failure, or a metric. Without one: lists them.',
    )
    .argument('[word]', 'e.g. server-bound, out-of-memory, p99_ttft_ms')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep explain server-bound\n  nightsweep explain p99_ttft_ms',
    )
    .action((word) => {
      const shown = word === undefined ? entries : entriesOf(word);
      context.stdout(
        word === undefined ? `${listText()}\n` : `${shown.map(entryText).join('\n\n')}\n`,
      );
    });
}

/** A word may be both a mark and a cause. `p99_ttft_ms` is `ttft_ms` with its statistic. */
function entriesOf(written: string): readonly Entry[] {
  const plain = written.toLowerCase();
  const word = plain.replace(/^(?:mean|median|max|p\d+)_/, '');
  const spellings = [plain, word, `${word}_ms`, plain.replaceAll('_', '-')];
  const found = entries.filter((entry) => spellings.includes(entry.word));
  if (found.length > 0) return found;
  const nearest = nearestName(
    plain,
    entries.map((entry) => entry.word),
  );
  throw new UserError(`nothing is known as ${written}`, {
    hint:
      nearest === undefined
        ? 'nightsweep explain lists all words'
        : `did you mean ${nearest}? nightsweep explain lists all words`,
  });
}

function entryText({ kind, word, means, advice }: Entry): string {
  return [
    `${word} (${kind})`,
    `  ${means}`,
    ...(advice === undefined ? [] : [`  ${advice}`]),
    ...(kind === 'cause' ? causeFacts(word) : []),
  ].join('\n');
}

/** What the table of known failures says of a cause. */
function causeFacts(code: string): readonly string[] {
  const known = failureSignatures.filter((signature) => signature.code === code);
  const [first] = known;
  if (first === undefined) return [];
  const retried = {
    infeasible: 'a fact about the flags: not tried again',
    environment: 'not the flags’ fault: tried again',
    unknown: 'tried once more, then taken for a fact about the flags',
  }[first.kind];
  const directions = known.flatMap((signature) => signature.directions ?? []);
  const flags = [
    ...new Set(directions.map(({ flag, value }) => `${flag} ${value.replace('-', ' ')}`)),
  ];
  return [`  ${retried}`, ...(flags.length === 0 ? [] : [`  likely: ${flags.join(', ')}`])];
}

function listText(): string {
  const kinds = Object.keys(EXPLANATION_KINDS);
  return kinds
    .map((kind) => {
      const words = entries
        .filter((entry) => entry.kind === kind)
        .map((entry) => `  ${entry.word}`);
      return [`${kind}s:`, ...words].join('\n');
    })
    .join('\n\n');
}
