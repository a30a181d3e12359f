import { budgetedSampler } from './budgeted.ts';
import { gridSampler } from './grid.ts';
import type { Sampler } from './sampler.ts';

/** Add a sampler here; the study schema and the command line read their choices from the keys. */
export const samplers = { grid: gridSampler, budgeted: budgetedSampler } satisfies Record<
  string,
  Sampler
>;

export type SamplerName = keyof typeof samplers;
