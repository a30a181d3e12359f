import { basename } from 'node:path';
import { UserError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import type { Assignment } from '../search-space/assignment.ts';
import { emitDropIn } from '../service-file/drop-in.ts';
import { recommendationName } from '../service-file/drop-in-name.ts';
import { emitUnit } from '../service-file/emit-unit.ts';
import { launchCommandFile } from '../service-file/launch-command.ts';
import { unifiedDiff } from '../service-file/unified-diff.ts';
import { applyAssignment } from '../sglang/apply-assignment.ts';
import { type HelpText, parseHelp } from '../sglang/help.ts';
import { redactText } from '../sglang/redact.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { readUnit } from './read-unit.ts';
import { readStoredUnit, type UnitToChange } from './stored-unit.ts';

/** Key under which a sweep stores where its unit file lies. */
export const UNIT_PATH_META = 'unit-path';

const DROP_IN = 'nightsweep.conf';

export interface RecommendedFile {
  readonly name: string;
  readonly text: string;
  readonly what: string;
}

export interface Recommendation {
  readonly files: readonly RecommendedFile[];
  /** Difference of the unit to production's; empty when nothing changes or there is no unit. */
  readonly diff: string;
}

/**
 * The files that put an assignment into production: the complete unit, a drop-in, the difference,
 * and the launch command. Production's unit is read again from where the sweep found it, since a
 * unit with secrets is not stored whole; one that was swept through systemd comes from the sweep
 * itself, or from the database.
 *
 * @param running the unit as the sweep that just ended read it.
 * @throws UserError when the unit has changed since the sweep, or is gone and cannot be rebuilt.
 */
export async function recommend(
  store: StudyStore,
  study: StoredStudy,
  assignment: Assignment,
  host: Host,
  running?: UnitToChange,
): Promise<Recommendation> {
  if (study.helpText === '') {
    throw new UserError(`study ${study.name} holds imported measurements only: it has no unit`, {
      hint: 'a sweep of a unit or a launch command is needed for a service file',
    });
  }
  const help = parseHelp(study.helpText);
  const version = study.sglangVersion ?? undefined;
  if (study.unitText === '') return recommendCommand(study, assignment, help, version);
  const unit = running ?? readStoredUnit(store, study) ?? (await unitOnDisk(store, study, host));
  return recommendUnit(unit, assignment, help, version);
}

function recommendUnit(
  { service, options }: UnitToChange,
  assignment: Assignment,
  help: HelpText,
  version: string | undefined,
): Recommendation {
  const emitted = emitUnit(service, assignment, help, { ...options, version });
  const [unit, ...dropIns] = emitted.files.map(({ path, text }, i) => ({
    path,
    text,
    name: i === 0 ? 'recommended.service' : `recommended-${basename(path)}`,
    before: service.files[i]?.text ?? '',
  }));
  if (unit === undefined) throw new Error('a service without a unit file');
  const changedDropIns = dropIns.filter(({ text, before }) => text !== before);
  // The unit itself must hold its keys; what is read and pasted elsewhere must not.
  const diff = [unit, ...changedDropIns]
    .map(({ path, text, name, before }) =>
      redactText(unifiedDiff(before, text, { from: basename(path), to: name })),
    )
    .join('');
  const files = [
    { name: unit.name, text: unit.text, what: 'the complete unit' },
    ...changedDropIns.map(({ path, text, name }) => ({
      name,
      text,
      what: `${path}, changed: it overrides the unit`,
    })),
    {
      name: dropInName(dropIns),
      text: emitDropIn(service, assignment, help, { ...options, version }),
      what: `a drop-in for /etc/systemd/system/${basename(unit.path)}.d/`,
    },
    { name: 'recommended.diff', text: diff, what: 'the difference to production' },
    {
      name: 'launch-command.txt',
      text: launchCommandFile(emitted.service.argv, assignment),
      what: 'the launch command',
    },
  ];
  // Nothing changes: a drop-in that repeats production would only hide later edits of the unit.
  return { diff, files: diff === '' ? files.slice(0, 1) : files };
}

/**
 * Drop-ins apply by file name: ours must come after those that are there.
 *
 * @throws UserError when one of them sorts after every name of ours.
 */
function dropInName(dropIns: readonly { readonly path: string }[]): string {
  const names = dropIns.map(({ path }) => basename(path));
  return names.every((name) => name < DROP_IN) ? DROP_IN : requireRecommendationName(names);
}

/** @throws UserError when a drop-in sorts after every name of ours. */
export function requireRecommendationName(others: readonly string[]): string {
  const name = recommendationName(others);
  if (name !== undefined) return name;
  throw new UserError(`${others.toSorted().at(-1) ?? ''} would override the recommendation`, {
    hint: 'Drop-ins apply by file name: rename that one so that it sorts before zz-.',
  });
}

async function unitOnDisk(
  store: StudyStore,
  study: StoredStudy,
  host: Host,
): Promise<UnitToChange> {
  const known = store.studyMeta(study.id, UNIT_PATH_META);
  const path = typeof known === 'string' ? known : 'sglang.service';
  return readUnit(path, await productionText(study, path, host), host);
}

function recommendCommand(
  study: StoredStudy,
  assignment: Assignment,
  help: HelpText,
  version: string | undefined,
): Recommendation {
  const { argv } = applyAssignment(study.baselineArgv, assignment, help, { version });
  const text = launchCommandFile(argv, assignment);
  return { diff: '', files: [{ name: 'launch-command.txt', text, what: 'the launch command' }] };
}

async function productionText(study: StoredStudy, path: string, host: Host): Promise<string> {
  const now = await host.readText(path);
  if (now !== undefined && redactText(now) === study.unitText) return now;
  if (now === undefined && redactText(study.unitText) === study.unitText) return study.unitText;
  throw new UserError(
    now === undefined
      ? `${path}, the unit of study ${study.name}, is gone, and it held secrets that are not stored`
      : `${path} has changed since study ${study.name} was measured`,
    { hint: 'put the unit back as it was measured, or sweep again with the new one' },
  );
}
