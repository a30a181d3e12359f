import { basename } from 'node:path';
import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import type { RankedTrial } from '../ranking/ranking.ts';
import { type Assignment, ENV_PREFIX } from '../search-space/assignment.ts';
import type { SystemdAccess } from '../server/systemd-access.ts';
import {
  type PermanentDropIn,
  permanentFolder,
  recommendationsIn,
} from '../server/systemd-install.ts';
import { isActive } from '../server/systemd-journal.ts';
import type { SystemdService } from '../server/systemd-service.ts';
import { showUnit } from '../server/systemd-unit-state.ts';
import { emitDropIn } from '../service-file/drop-in.ts';
import { assignedLaunch } from '../service-file/emit-unit.ts';
import { readService } from '../service-file/read-service.ts';
import { redactText } from '../sglang/redact.ts';
import { compareIdentity } from '../storage/compare-identity.ts';
import type { StoredStudy } from '../storage/study-store.ts';
import { identityOf } from './identity.ts';
import { type Production, readProduction, unitTextOf } from './production.ts';
import { requireRecommendationName } from './recommendation.ts';

/** What a recommendation would change in a unit. */
export type Installation =
  | { readonly state: 'in-force'; readonly path: string }
  | {
      readonly state: 'new';
      readonly dropIn: PermanentDropIn;
      readonly text: string;
      /** What must run then. */
      readonly launch: {
        readonly argv: readonly string[];
        readonly environment: Readonly<Record<string, string>>;
      };
      readonly production: Production & { readonly systemd: SystemdService };
    };

/**
 * Reads the unit and prepares the drop-in that puts a trial into force there. Changes nothing.
 *
 * @throws UserError for a unit that is not the one that the study measured, that does not run, or
 *   that has another recommendation in force.
 */
export async function planInstallation(
  {
    study,
    stored,
    trial,
  }: { readonly study: Study; readonly stored: StoredStudy; readonly trial: RankedTrial },
  host: Host,
  unit: SystemdAccess,
): Promise<Installation> {
  if (study.target.program !== undefined) {
    throw new UserError(`${study.path}: target.program ran in place of the unit's own program`, {
      hint: 'What was measured is not what the unit would run: sweep without target.program first.',
    });
  }
  const state = await showUnit(unit);
  if (!isActive(state)) {
    throw new UserError(`${unit.unit} on ${host.name} does not run (${state.activeState})`, {
      hint: 'A recommendation goes over a production that serves: start it first.',
    });
  }
  const production = await readProduction(study, host, unit);
  const { systemd } = production;
  if (systemd === undefined) throw new Error('a unit was not read through systemd');
  const assignment = { ...variablesOf(study), ...trial.assignment };
  const options = { ...systemd.options, version: production.version ?? undefined };
  const applied = recommendationsIn(state).at(-1);
  if (applied !== undefined) {
    const below = withoutFile(systemd, applied);
    if (differencesOf(study, stored, production, below).length === 0) {
      const text = emitDropIn(below.service, assignment, production.help, options);
      if (systemd.files.at(-1)?.text === text) return { state: 'in-force', path: applied };
      throw new UserError(`${applied} on ${host.name} holds another recommendation`, {
        hint: `Take it back first: nightsweep recommend --revert ${study.path}`,
      });
    }
  }
  const differences = differencesOf(study, stored, production, systemd);
  if (differences.length > 0) {
    throw new UserError(
      `${unit.unit} on ${host.name} is not what study ${study.name} measured: ${differences.join('; ')}`,
      { hint: 'Put it back as it was measured, or sweep again.' },
    );
  }
  const text = emitDropIn(systemd.service, assignment, production.help, options);
  const names = state.dropInPaths.map((path) => basename(path));
  const path = `${await permanentFolder(unit)}/${requireRecommendationName(names)}`;
  const mode = redactText(text) === text ? 0o644 : 0o600;
  const launched = assignedLaunch(systemd.service, assignment, production.help, options);
  return {
    state: 'new',
    dropIn: { path, mode },
    text,
    launch: { argv: launched.argv, environment: environmentOf(systemd, launched.environment) },
    production: { ...production, systemd },
  };
}

/** Variables that the study adds to every trial: the unit needs them too. */
function variablesOf({ target }: Study): Assignment {
  return Object.fromEntries(
    Object.entries(target.environment).map(([name, value]) => [`${ENV_PREFIX}${name}`, value]),
  );
}

/** What the process has besides the unit's own settings stays. */
function environmentOf(
  { environment, service }: SystemdService,
  wanted: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const others = Object.entries(environment).filter(([name]) => !(name in service.environment));
  return { ...Object.fromEntries(others), ...wanted };
}

/** The service as it would be without one of its files. */
function withoutFile(
  { files, options }: SystemdService,
  path: string,
): Pick<SystemdService, 'files' | 'service'> {
  const left = files.filter((file) => file.path !== path);
  return { files: left, service: readService(left, options) };
}

function differencesOf(
  study: Study,
  stored: StoredStudy,
  production: Production,
  { files, service }: Pick<SystemdService, 'files' | 'service'>,
): readonly string[] {
  const given = identityOf(study, {
    ...production,
    argv: service.argv,
    unitText: unitTextOf(files),
  });
  return compareIdentity(stored, given)
    .filter(({ effect }) => effect === 'forbidden')
    .map((one) => `${one.field}: ${one.stored} -> ${one.given}`);
}
