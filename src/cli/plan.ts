import { existsSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { loadStudy } from '../config/load-study.ts';
import type { Study } from '../config/study.ts';
import { type PlanFacts, planJson, planReport } from '../report/plan-report.ts';
import { serviceWarningText } from '../service-file/warning-text.ts';
import { createBudget } from '../study/budget.ts';
import { type Experience, estimateSweep } from '../study/estimate.ts';
import { experienceOf } from '../study/experience.ts';
import { type PreparedSweep, prepareSweep } from '../study/prepare.ts';
import type { CliContext } from './context.ts';
import { openDatabase } from './open-database.ts';
import { DEFAULT_DATABASE } from './options.ts';
import { reachTarget } from './reach-target.ts';

/** `plan`: everything that is known before the first launch; touches nothing. */
export function planCommand(context: CliContext) {
  return new Command('plan')
    .summary('check a study file and show what a sweep would do')
    .description(
      'Checks a study file against the target’s own flags and shows what a sweep would launch,\nhow long it would take, and what it would skip by which rule. Touches nothing.',
    )
    .argument('<study>', 'study file')
    .option('--json', 'print JSON')
    .option('--db <file>', 'database, for what earlier launches took', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep plan search-spaces/demo.yaml\n  nightsweep plan study.yaml --json',
    )
    .action(async (path, { json, db }) => {
      const study = await loadStudy(path);
      await using place = await reachTarget(study.target, context);
      const prepared = await prepareSweep(study, place.host, place.unit);
      const facts = planFacts(prepared, await readExperience(db, study));
      if (json === true) context.stdout(`${JSON.stringify(planJson(facts), null, 2)}\n`);
      else context.stdout(`${planReport(facts)}\n`);
    });
}

/** What the plan of a prepared sweep says. */
export function planFacts(prepared: PreparedSweep, experience: Experience): PlanFacts {
  const { study, production, plan } = prepared;
  return {
    study: study.name,
    version: production.version,
    budget: createBudget(study.budget, systemClock).text,
    plan,
    estimate: estimateSweep(study, plan.trials.length, experience),
    warnings: [
      ...study.warnings.map(
        (warning) => `${study.path}:${String(warning.position.line)}: ${warning.message}`,
      ),
      ...production.warnings.map(serviceWarningText),
      ...plan.warnings,
    ],
  };
}

/** Planning must not create a database: without one there is no experience. */
async function readExperience(database: string, study: Study): Promise<Experience> {
  if (!existsSync(database)) return { startSeconds: undefined, pointSeconds: new Map() };
  using store = await openDatabase(database, { readOnly: true });
  return experienceOf(store, study.name);
}
