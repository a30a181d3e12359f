import type { WorkloadConfig } from '../config/study.ts';
import { NoAnswerError } from '../load/network-failure.ts';
import {
  askGuardPrompts,
  type GuardOutputs,
  type GuardStrictness,
  judgeOutputs,
} from '../load/output-guard.ts';
import type { ServerAccess } from '../load/server-probe.ts';
import type { Mark, PointMetrics } from '../metrics/point-metrics.ts';
import type { PointResult, ServerFacts } from './services.ts';

/** Name of the condition of a baseline's measurement that keeps its outputs, for a resumed sweep. */
const OUTPUTS_CONDITION = 'guard_outputs';

/** What the answers of one launch showed. */
export interface OutputCheck {
  /** Bars the launch's measurements from the ranking; undefined when the answers are sound. */
  readonly mark?: Mark;
  readonly conditions: PointResult['conditions'];
}

/**
 * Compares the answers of every launch with the baseline's (field report C6). Asked once per launch,
 * before its first measurement; until a baseline has answered nothing is judged.
 */
export class OutputChecker {
  readonly #server: ServerAccess & Pick<WorkloadConfig, 'api'>;
  readonly #strictness: GuardStrictness;
  readonly #checks = new WeakMap<ServerFacts, Promise<OutputCheck>>();
  #baseline: GuardOutputs | undefined;

  constructor(
    server: ServerAccess & Pick<WorkloadConfig, 'api'>,
    { baseline, ...strictness }: GuardStrictness & { readonly baseline?: GuardOutputs | undefined },
  ) {
    this.#server = server;
    this.#baseline = baseline;
    this.#strictness = strictness;
  }

  /** The launch's check; `facts` is the same object for all measurements of a launch. */
  check(facts: ServerFacts, isBaseline: boolean, signal: AbortSignal): Promise<OutputCheck> {
    const known = this.#checks.get(facts);
    if (known !== undefined) return known;
    const check = this.#ask(facts, isBaseline, signal);
    this.#checks.set(facts, check);
    // A broken link says nothing about the answers: the next measurement asks again.
    check.catch(() => this.#checks.delete(facts));
    return check;
  }

  async #ask(facts: ServerFacts, isBaseline: boolean, signal: AbortSignal): Promise<OutputCheck> {
    const server = { ...this.#server, model: facts.model, timeScale: facts.timeScale };
    const outputs = await askGuardPrompts(server, signal).catch((error: unknown) => {
      // A server that refuses requests is judged by the load run, which counts them (C17).
      if (error instanceof NoAnswerError) return error;
      throw error;
    });
    if (outputs instanceof NoAnswerError) {
      return { conditions: { output_check: `not asked: ${outputs.message}` } };
    }
    if (isBaseline) {
      this.#baseline ??= outputs;
      return {
        conditions: { output_check: 'baseline', [OUTPUTS_CONDITION]: JSON.stringify(outputs) },
      };
    }
    if (this.#baseline === undefined) return { conditions: { output_check: 'no baseline' } };
    const problems = judgeOutputs(outputs, this.#baseline, this.#strictness);
    if (problems.length === 0) return { conditions: { output_check: 'passed' } };
    const what = problems.join('; ');
    return {
      mark: { code: 'wrong-outputs', facts: { what } },
      conditions: { output_check: what, [OUTPUTS_CONDITION]: JSON.stringify(outputs) },
    };
  }
}

/** The outputs that a baseline's stored measurement keeps; undefined when none does. */
export function storedOutputs(
  measurements: readonly { readonly conditions: PointResult['conditions'] }[],
): GuardOutputs | undefined {
  const kept = measurements.find(({ conditions }) => conditions['output_check'] === 'baseline');
  const text = kept?.conditions[OUTPUTS_CONDITION];
  if (typeof text !== 'string') return undefined;
  const outputs = JSON.parse(text) as unknown;
  return Array.isArray(outputs) ? outputs.map(String) : undefined;
}

/** The metrics with the mark of the check, if it has one. */
export function withCheck(metrics: PointMetrics, { mark }: OutputCheck): PointMetrics {
  return mark === undefined ? metrics : { ...metrics, marks: [...metrics.marks, mark] };
}
