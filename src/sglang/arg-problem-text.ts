import type { ArgProblem } from './launch-args.ts';

/** What is wrong with a launch command, as a sentence. Values of flags may be part of it. */
export function argProblemText(problem: ArgProblem): string {
  switch (problem.code) {
    case 'unknown-flag':
      return `this SGLang version does not know ${problem.spelled}${problem.nearest === undefined ? '' : ` (nearest: --${problem.nearest})`}`;
    case 'ambiguous-flag':
      return `${problem.spelled} is ambiguous: ${problem.candidates.map((name) => `--${name}`).join(', ')}`;
    case 'retired-flag':
      return `this SGLang version has no ${problem.spelled} any more; use ${problem.replacement}`;
    case 'hidden-flag':
      return `${problem.spelled} is an old name of --${problem.name} that the help text does not show`;
    case 'repeated-flag':
      return `--${problem.name} is given more than once; the last one counts`;
    case 'missing-value':
      return `${problem.spelled} needs a value`;
    case 'unexpected-value':
      return `${problem.spelled} takes no value`;
    case 'bad-value':
      return `${problem.spelled}: "${problem.value}" ${problem.expected}`;
    case 'stray-word':
      return `"${problem.word}" belongs to no flag`;
    case 'config-file':
      return `flags in ${problem.file} (--config) are not seen; flags of the command line override them`;
  }
}
