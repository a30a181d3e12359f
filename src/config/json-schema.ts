import { z } from 'zod';
import { studySchema } from './study-schema.ts';

/**
 * JSON schema of study files, which editors use for completion and hints. The committed copy is
 * `search-spaces/study.schema.json`; a test says how to renew it.
 */
export function studyJsonSchema(): Record<string, unknown> {
  return {
    ...z.toJSONSchema(studySchema, { io: 'input' }),
    title: 'nightsweep study',
  };
}
