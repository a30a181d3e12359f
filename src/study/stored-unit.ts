import _ from 'lodash';
import { z } from 'zod';
import { UserError } from '../errors.ts';
import type { SystemdService } from '../server/systemd-service.ts';
import { listEntries } from '../service-file/merge.ts';
import { readService } from '../service-file/read-service.ts';
import type { ReadServiceOptions, Service } from '../service-file/service.ts';
import { parseUnitText } from '../service-file/unit-text.ts';
import { redactArgv, redactText } from '../sglang/redact.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';

/** A service and what it was read with, which writing it back needs. */
export interface UnitToChange {
  readonly service: Service;
  readonly options: ReadServiceOptions;
}

const META = 'systemd-unit';

const storedSchema = z.object({
  unit: z.string(),
  /** Unit file and drop-ins as they apply, without secrets. */
  files: z.array(z.object({ path: z.string(), text: z.string() })),
  /** Whether the texts held no secret, so that they are the files themselves. */
  isWhole: z.boolean(),
});

/** Keeps the files of a study's unit, without secrets: `recommend` needs no access to the target. */
export function storeUnit(
  store: StudyStore,
  studyId: number,
  { files, service }: SystemdService,
): void {
  store.setStudyMeta(studyId, META, {
    unit: service.unitName,
    files: files.map(({ path, text }) => ({ path, text: redactText(text) })),
    isWhole: files.every(({ text }) => redactText(text) === text),
  } satisfies z.infer<typeof storedSchema>);
}

/**
 * The unit of a study that was swept through systemd, from the database; undefined for other
 * studies.
 *
 * @throws UserError when it cannot be rebuilt without what is not stored: secrets, and values of
 *   environment files that the command needs.
 */
export function readStoredUnit(store: StudyStore, study: StoredStudy): UnitToChange | undefined {
  const meta = store.studyMeta(study.id, META);
  if (meta === undefined || meta === null) return undefined;
  const { unit, files, isWhole } = storedSchema.parse(meta);
  // Variables of environment files are not stored; whether the command needs any is checked below.
  const options = { unitName: unit, readEnvironmentFile: () => '' };
  const service = readService(files, options);
  const needsFiles =
    listEntries(
      files.map(({ path, text }) => parseUnitText(text, path)),
      'EnvironmentFile',
    ).length > 0 && !_.isEqual(redactArgv(service.argv), study.baselineArgv);
  if (isWhole && !needsFiles) return { service, options };
  const what = isWhole ? 'its command needs environment files' : 'it holds secrets';
  throw new UserError(`${unit} cannot be rebuilt from the database: ${what} that are not stored`, {
    hint: 'The sweep wrote the files into its folder; its same command, once more, writes them again.',
  });
}
