import { access, readFile } from 'node:fs/promises';
import { UserError } from '../errors.ts';
import { normaliseParameterName } from '../search-space/parameter-names.ts';
import { readExpectation } from './baseline-section.ts';
import { readBudget } from './budget-section.ts';
import { readConstraints } from './constraint-section.ts';
import { readLimits } from './limits.ts';
import { readNotify } from './notify-section.ts';
import { readParameters } from './parameter-section.ts';
import { type KeyPath, type Position, Problems, show } from './problems.ts';
import { readProfile } from './profile.ts';
import { checkShape } from './schema-problems.ts';
import { selfCommand } from './self-command.ts';
import { readSlos } from './slo-section.ts';
import type { Study } from './study.ts';
import { readStudyDocument, type StudyDocument } from './study-document.ts';
import { readTarget } from './target-section.ts';
import { readMeasure, readStart } from './time-limits.ts';
import { findWarnings } from './warnings.ts';
import { DEFAULT_WORKLOAD, isPromptKind, readWorkload } from './workload-section.ts';

/** Also the name of a folder and of a systemd drop-in. */
const STUDY_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export interface LoadStudyOptions {
  readonly readFile?: (path: string) => Promise<string>;
  readonly fileExists?: (path: string) => Promise<boolean>;
  /** What `$nightsweep` stands for. */
  readonly self?: readonly string[];
}

/**
 * Reads and validates a study file and fills in defaults.
 *
 * All mistakes are thrown together as one UserError, each with file, line, column, the value, and
 * the nearest known key or choice. Files that the study names (unit file, prompts) must exist.
 */
export async function loadStudy(path: string, options: LoadStudyOptions = {}): Promise<Study> {
  const text = await readStudyFile(path, options.readFile ?? ((file) => readFile(file, 'utf8')));
  const document = readStudyDocument(text, path);
  const problems = problemsOf(document, path);
  const study = interpret(document, path, options.self ?? selfCommand(), problems);
  await checkFiles(study, problems, options.fileExists ?? fileExists);
  problems.throwIfAny();
  return study;
}

/** As `loadStudy`, from text; files that the study names are not looked for. */
export function parseStudy(
  text: string,
  path: string,
  self: readonly string[] = selfCommand(),
): Study {
  const document = readStudyDocument(text, path);
  return interpret(document, path, self, problemsOf(document, path));
}

function problemsOf(document: StudyDocument, path: string): Problems {
  return new Problems(path, (at, what) => document.locate(at, what));
}

function interpret(
  document: StudyDocument,
  path: string,
  self: readonly string[],
  problems: Problems,
): Study {
  const file = checkShape(document.values, problems);
  const workload = readWorkload(
    ['workload'],
    file.workload ?? {},
    DEFAULT_WORKLOAD,
    path,
    problems,
  );
  const parameters = file.parameters && readParameters(file.parameters, problems);
  const expected = file.baseline?.expect;
  const study = {
    name: file.study === undefined ? undefined : readName(file.study, problems),
    path,
    target: file.target && readTarget(file.target, { file: path, self }, problems),
    profile: file.profile && readProfileSection(file.profile, problems),
    objective: {
      score: file.objective?.score ?? 'relative',
      limits: readLimits(file.objective?.limits ?? [], problems),
      ...readSlos(file.objective?.slo, file.objective?.limits ?? [], problems),
    },
    workload,
    measure: readMeasure(file.measure ?? {}, problems),
    start: readStart(file.start ?? {}, problems),
    parameters,
    // Without parameters every name in a constraint would be reported as unknown.
    constraints:
      parameters &&
      readConstraints(file.constraints ?? [], parameters, lineOfConstraint(document), problems),
    baseline:
      expected === undefined ? {} : { expect: readExpectation(expected, workload, path, problems) },
    budget: readBudget(file.budget ?? {}, problems),
    ...(file.notify !== undefined && { notify: readNotify(file.notify, problems) }),
    parameterPositions: positionsOf(file.parameters ?? {}, document),
    warnings: findWarnings(document),
  } as const;
  problems.throwIfAny();
  return complete(study);
}

/** Once no mistake is left, every section that must be there is there. */
function complete<T extends object>(study: T): { [K in keyof T]: NonNullable<T[K]> } {
  const missing = Object.entries(study).find(([, value]) => value === undefined);
  if (missing !== undefined)
    throw new Error(`study section ${missing[0]} was not reported missing`);
  return study as { [K in keyof T]: NonNullable<T[K]> };
}

function readName(name: string, problems: Problems): string {
  if (!STUDY_NAME.test(name)) {
    problems.add(
      ['study'],
      `expected letters, digits, dots, dashes, underscores, got ${show(name)}`,
      {
        hint: 'the name is also that of a folder',
      },
    );
  }
  return name;
}

function readProfileSection(
  section: Readonly<Record<string, number>>,
  problems: Problems,
): ReadonlyMap<number, number> {
  const result = readProfile(section);
  if ('profile' in result) return result.profile;
  for (const { key, message, hint } of result.problems) {
    const at = key === undefined ? ['profile'] : ['profile', key];
    problems.add(at, message, { hint, at: 'key' });
  }
  return new Map();
}

function lineOfConstraint(document: StudyDocument): (index: number) => number {
  return (index) => document.locate(['constraints', index], 'value').line;
}

function positionsOf(
  section: Readonly<Record<string, unknown>>,
  document: StudyDocument,
): ReadonlyMap<string, Position> {
  return new Map(
    Object.keys(section).map((written) => [
      normaliseParameterName(written),
      document.locate(['parameters', written], 'key'),
    ]),
  );
}

async function readStudyFile(
  path: string,
  read: (path: string) => Promise<string>,
): Promise<string> {
  try {
    return await read(path);
  } catch (cause) {
    throw new UserError(`study file ${path} cannot be read`, {
      hint: 'name an existing file, e.g. one of search-spaces/',
      cause,
    });
  }
}

async function fileExists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function checkFiles(
  { target, workload, baseline }: Study,
  problems: Problems,
  exists: (path: string) => Promise<boolean>,
): Promise<void> {
  const promptFile = (prompts: string | undefined) =>
    prompts === undefined || isPromptKind(prompts) ? undefined : prompts;
  const named: readonly (readonly [KeyPath, string | undefined])[] = [
    [['target', 'unit_file'], target.unitFile],
    [['workload', 'prompts'], promptFile(workload.prompts)],
    [['baseline', 'expect', 'workload', 'prompts'], promptFile(baseline.expect?.workload.prompts)],
  ];
  for (const [at, file] of named) {
    if (file === undefined || (await exists(file))) continue;
    problems.add(at, `there is no file ${file}`, { hint: 'paths are relative to the study file' });
  }
}
