import type { SessionShape } from '../load/prompts/session-prompts.ts';
import { readCount, readSeconds } from './number-fields.ts';
import type { KeyPath, Problems } from './problems.ts';
import type { WorkloadSection } from './study-schema.ts';

/** `workload.session`: the shape of agentic sessions; mistakes go to `problems`. */
export function readSession(
  path: KeyPath,
  { turns, pause, turn_tokens }: NonNullable<WorkloadSection['session']>,
  problems: Problems,
): SessionShape {
  const at = (key: string) => [...path, 'session', key];
  return {
    ...(turns !== undefined && { turns: readCount(at('turns'), turns, problems) }),
    ...(pause !== undefined && { pauseSeconds: readSeconds(at('pause'), pause, problems) }),
    ...(turn_tokens !== undefined && {
      turnTokens: readCount(at('turn_tokens'), turn_tokens, problems),
    }),
  };
}
