import type { Decision } from '../ranking/decide.ts';
import type { Ranking } from '../ranking/ranking.ts';
import { changesText } from './assignment-text.ts';
import { ineligibilitiesText } from './ineligibility-text.ts';
import { intervalText, scoreText } from './ranking-table.ts';

/** What to do, as one or two sentences. */
export function decisionText(ranking: Ranking, decision: Decision): string {
  switch (decision.kind) {
    case 'winner': {
      const { winner, baselineIneligible } = decision;
      const out = ineligibilitiesText(baselineIneligible);
      const changes = changesText(winner.assignment, decision.baseline?.assignment);
      const what = `trial ${winner.trial} wins: ${changes}`;
      const score = `${scoreText(ranking, winner.score)} (${intervalText(ranking, winner)})`;
      const over =
        ranking.scoreKind === 'relative' ? `${score} over the baseline` : `${score} tok/s`;
      const confirmed =
        decision.confirmingLaunches > 0 || decision.baseline === null
          ? ''
          : '; not confirmed by launches that did not choose it: expect less';
      return `${what}\n${over}${confirmed}${out === null ? '' : `; the baseline is out: ${out}`}`;
    }
    case 'keep': {
      const { runnerUp, isTie } = decision;
      if (runnerUp === null) return 'keep what you have: no other trial is eligible';
      const why = isTie ? 'is not distinguishable from it' : 'is slower';
      return `keep what you have: no significant win over the baseline; the next, trial ${runnerUp.trial} (${scoreText(ranking, runnerUp.score)}), ${why}`;
    }
    case 'nothing-feasible':
      return 'nothing is feasible: no trial survived the profile and met the limits';
  }
}
