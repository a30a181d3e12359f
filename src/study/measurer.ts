import type { Clock } from '../clock.ts';
import type { Study, WorkloadConfig } from '../config/study.ts';
import { measurePoint } from '../load/measure-point.ts';
import { NoAnswerError } from '../load/network-failure.ts';
import type { GuardOutputs } from '../load/output-guard.ts';
import { requestsInFlight } from '../load/requests-in-flight.ts';
import { readMetricsText } from '../load/server-counters.ts';
import { completeOnce, fetchServerInfo, type ServerAccess } from '../load/server-probe.ts';
import { redactJson, secretValues } from '../sglang/redact.ts';
import type { StoredStudy } from '../storage/study-store.ts';
import { OutputChecker, withCheck } from './output-check.ts';
import { pointWorkload } from './point-workload.ts';
import type { Measurer, PointRequest, PointResult, ServerProbe } from './services.ts';

/** Takes one point, by this process or on another machine. */
export type TakePoint = typeof measurePoint;

/** A first completion may compile kernels for minutes; a hung server must not wait for more. */
const COMPLETION_TIMEOUT_MS = 120_000;

/** Ready means that decoding works, which some broken launches only show at the second token. */
const COMPLETION_TOKENS = 8;

/** Asks the server at `access` with the API of the study's workload. */
export function createProbe(
  access: ServerAccess,
  { api }: Pick<WorkloadConfig, 'api'>,
): ServerProbe {
  return {
    complete: async (signal) => {
      const completion = await completeOnce(
        {
          ...access,
          api,
          model: 'default',
          prompt: { kind: 'text', text: 'Count from one to ten: one, two,' },
          outputTokens: COMPLETION_TOKENS,
          ignoreEos: true,
          timeoutMs: COMPLETION_TIMEOUT_MS,
        },
        signal,
      );
      const tokens = completion.outputTokens ?? completion.text.length;
      if (tokens < 1) throw new NoAnswerError('a test completion brought no token');
    },
    inFlight: (signal) => requestsInFlight(access, signal),
    facts: async (signal) => {
      const info = await fetchServerInfo(access, signal);
      return {
        version: info.version,
        model: info.model,
        timeScale: info.timeScale,
        simulated: info.raw?.['nightsweep_simulator'] !== undefined,
        runningLimit: info.runningLimit,
        serverInfo: info.raw === null ? null : redactInfo(info.raw, access),
        metricsText: await readMetricsText(access, signal),
      };
    },
  };
}

function redactInfo(
  raw: Readonly<Record<string, unknown>>,
  { apiKey }: ServerAccess,
): Readonly<Record<string, unknown>> {
  const secrets = apiKey === undefined ? [] : secretValues(['--api-key', apiKey], {});
  return redactJson(raw, secrets) as Readonly<Record<string, unknown>>;
}

/**
 * Takes the measurements of a study with its workload.
 *
 * Prompts depend on seed, salt, round, concurrency and repeat alone, so that every trial gets the
 * same ones and no measurement of a launch sees those of another.
 */
export function createMeasurer(
  access: ServerAccess,
  study: Study,
  clock: Clock,
  {
    workload = study.workload,
    salt,
    baselineOutputs,
    takePoint = measurePoint,
  }: {
    workload?: WorkloadConfig;
    /** That of the sweep: the server has seen no prompt of another one. */
    salt: string;
    /** What the baseline answered in an earlier, interrupted run of the sweep. */
    baselineOutputs?: GuardOutputs | undefined;
    /** How one point is taken; default: by this process. */
    takePoint?: TakePoint;
  },
): Measurer {
  const checker = new OutputChecker(
    { ...access, api: workload.api },
    { ...study.measure.outputCheck, baseline: baselineOutputs },
  );
  return {
    measure: async (request: PointRequest): Promise<PointResult> => {
      const { facts, concurrency, round, repeat, isBaseline = false, signal } = request;
      const check = await checker.check(facts, isBaseline, signal);
      const { metrics, run, conditions } = await takePoint(
        {
          ...access,
          model: facts.model,
          timeScale: facts.timeScale,
          runningLimit: facts.runningLimit,
          workload: pointWorkload(workload, concurrency),
          concurrency,
          warmUpRequests: study.measure.warmUp.requests,
          warmUpLimitSeconds: study.measure.warmUp.limitSeconds,
          salt: `${salt}/${String(round)}/${String(repeat)}`,
          requestTimeoutSeconds: study.measure.requestTimeoutSeconds,
          pointTimeoutSeconds: study.measure.pointTimeoutSeconds,
          stallSeconds: study.measure.stallSeconds,
          maxFailureFraction: study.measure.maxFailureFraction,
          expectedTokensPerSecond: request.expectedTokensPerSecond,
          giveUpBelowFraction: study.measure.giveUpBelowFraction,
          slos: study.objective.slos,
        },
        {
          clock,
          signal,
          onPhase: request.onPhase,
          onProgress: request.onProgress,
        },
      );
      return {
        // An open loop has another number in flight at every moment; its point is still C users.
        metrics: withCheck({ ...metrics, concurrency }, check),
        records: run.records,
        usable: run.end === 'completed',
        why: run.end,
        conditions: { ...conditions, ...check.conditions },
      };
    },
  };
}

/** Salt of a sweep's prompts: new for each, unless its study asks for those of an earlier one. */
export function sweepSalt(
  { workload }: Study,
  { createdAtMs }: Pick<StoredStudy, 'createdAtMs'>,
): string {
  return workload.salt ?? String(createdAtMs);
}
