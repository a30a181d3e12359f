import { readSeconds } from './number-fields.ts';
import { type KeyPath, type Problems, show } from './problems.ts';
import type { ArrivalsConfig, WorkloadConfig } from './study.ts';
import type { WorkloadSection } from './study-schema.ts';

/**
 * When requests are sent: `think_time` of a closed loop or `arrivals` of an open one, else as in
 * `defaults`. Mistakes go to `problems`.
 */
export function readArrivals(
  path: KeyPath,
  section: WorkloadSection,
  defaults: WorkloadConfig,
  problems: Problems,
): { readonly arrivals?: ArrivalsConfig } {
  const { think_time, arrivals } = section;
  if (arrivals !== undefined && think_time !== undefined) {
    problems.add([...path, 'think_time'], 'belongs to a closed loop, arrivals to an open one', {
      at: 'key',
      hint: 'keep one of the two',
    });
  }
  if (arrivals !== undefined && (section.prompts ?? defaults.prompts) === 'agentic') {
    problems.add([...path, 'arrivals'], 'a session sends its next request after an answer', {
      at: 'key',
      hint: 'agentic prompts are a closed loop: set session.pause or think_time',
    });
  }
  if (arrivals !== undefined) return { arrivals: readOpenLoop(path, arrivals, problems) };
  if (think_time === undefined) {
    return defaults.arrivals === undefined ? {} : { arrivals: defaults.arrivals };
  }
  if (think_time === 0) return {};
  const seconds = readSeconds([...path, 'think_time'], think_time, problems);
  return { arrivals: { kind: 'closed', thinkTimeMs: seconds * 1000 } };
}

function readOpenLoop(
  path: KeyPath,
  { rate, process = 'poisson', burstiness }: NonNullable<WorkloadSection['arrivals']>,
  problems: Problems,
): ArrivalsConfig {
  const positive = (key: string, value: number): number => {
    if (value > 0 && Number.isFinite(value)) return value;
    const at = [...path, 'arrivals', key];
    problems.add(at, `expected a number above zero, got ${show(value)}`);
    return 1;
  };
  if (burstiness !== undefined && process !== 'gamma') {
    problems.add([...path, 'arrivals', 'burstiness'], `has no effect on ${process} arrivals`, {
      at: 'key',
      hint: 'set process: gamma',
    });
  }
  return {
    kind: 'open',
    requestsPerSecondPerUser: positive('rate', rate),
    process,
    ...(burstiness !== undefined && { burstiness: positive('burstiness', burstiness) }),
  };
}
