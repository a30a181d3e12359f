import { Command } from '@commander-js/extra-typings';
import { storedLimits } from '../config/limits.ts';
import type { ScoreKind } from '../ranking/score.ts';
import { replayReport } from '../report/replay-report.ts';
import { type SamplerName, samplers } from '../samplers/registry.ts';
import { replay } from '../study/replay.ts';
import type { CliContext } from './context.ts';
import { DEFAULT_DATABASE, oneOf, wholeNumber } from './options.ts';
import { openStoredStudy } from './read-study.ts';

const names = Object.keys(samplers) as SamplerName[];

/** `replay`: what a sampler would have found with the launches a study recorded. */
export function replayCommand(context: CliContext) {
  return new Command('replay')
    .summary('run a sampler over a recorded study, without a server')
    .description(
      'Lets a sampler choose among the trials a study has recorded and shows how soon it\nfinds the best. Nothing is launched or stored.',
    )
    .argument('<study>', 'study in the database')
    .option('--sampler <name>', `${names.join(', ')} (default: each)`, oneOf(names))
    .option('--launches <n>', 'search launches at most', wholeNumber(1))
    .option('--json', 'print JSON')
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep replay demo\n  nightsweep replay demo --sampler budgeted --launches 20',
    )
    .action(async (name, { db, sampler, launches, json }) => {
      const { store: opened, study } = await openStoredStudy(db, name);
      using store = opened;
      const data = store.trialData(study.id);
      const judgedBy = {
        profile: study.profile,
        objective: {
          score: study.scoreKind as ScoreKind,
          limits: storedLimits(study.limits),
        },
      };
      const runs = (sampler === undefined ? names : [sampler]).map((one) => {
        return { sampler: one, steps: replay(data, judgedBy, one, launches) };
      });
      if (json === true) context.stdout(`${JSON.stringify(runs, null, 2)}\n`);
      else {
        const text = runs.map((run) => replayReport(run.sampler, run.steps)).join('\n');
        context.stdout(`${text}\n`);
      }
    });
}
