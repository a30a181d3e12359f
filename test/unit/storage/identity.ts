import type { StudyIdentity } from '../../../src/storage/study-store.ts';

export const identity: StudyIdentity = {
  name: 'agentic',
  workload: { prompts: 'code', output_tokens: 1000 },
  profile: new Map([[16, 1]]),
  scoreKind: 'relative',
  limits: [],
  sglangVersion: '0.5.23',
  baselineArgv: ['python3'],
  unitText: '',
  helpText: '',
  seed: 7,
};
