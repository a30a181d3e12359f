import { UserError } from '../errors.ts';
import type { Dialect } from './dialect.ts';
import type { LoadPlan, PromptSource } from './load-run.ts';
import type { PointOptions } from './point-options.ts';
import { createPromptSource } from './prompts/create-prompt-source.ts';
import { requestsOfPoint } from './requests-of-point.ts';

/** Output of a warm-up request: enough decode steps for every kernel to be compiled and tuned. */
const WARM_UP_TOKENS = 64;
/** Warm-up of an open loop, which has no concurrency of its own. */
const OPEN_LOOP_WARM_UP = 8;
const MAX_FAILURE_FRACTION = 0.5;
/** Below this share of the expected speed a point is not worth its time (field report D6). */
const HOPELESS_FRACTION = 0.3;

/**
 * The load run of a point. `phase` goes into the prompts' salt. Throws UserError for prompts that
 * do not exist, or that cannot be sent in this way.
 */
export function pointPlan(
  options: PointOptions,
  dialect: Dialect | undefined,
  phase: string,
): LoadPlan {
  const { workload, concurrency, apiKey, expectedTokensPerSecond } = options;
  const prompts = pointPrompts(options, phase);
  const { arrivals } = workload;
  if (arrivals?.kind === 'open' && (prompts.turns ?? 1) > 1) {
    throw new UserError(`prompts '${prompts.name}' are sessions, which no open loop can send`, {
      hint: 'a session sends its next request after an answer: leave out the rate',
    });
  }
  const fraction = options.giveUpBelowFraction ?? HOPELESS_FRACTION;
  return {
    baseUrl: options.baseUrl,
    api: workload.api,
    model: options.model,
    ...(apiKey === undefined ? {} : { apiKey }),
    concurrency,
    arrivals,
    dialect,
    requests: requestsOfPoint(concurrency, workload.requests, {
      turns: prompts.turns,
      requestsPerSecond: arrivals?.kind === 'open' ? arrivals.requestsPerSecond : undefined,
    }),
    prompts,
    outputTokens: workload.outputTokens,
    ignoreEos: workload.ignoreEos,
    requestTimeoutMs: options.requestTimeoutSeconds * 1000,
    stallMs: options.stallSeconds * 1000,
    pointTimeoutMs: options.pointTimeoutSeconds * 1000,
    maxFailureFraction: options.maxFailureFraction ?? MAX_FAILURE_FRACTION,
    timeScale: options.timeScale,
    ...(expectedTokensPerSecond == null || fraction === 0
      ? {}
      : { hopeless: { expectedTokensPerSecond, fraction } }),
  };
}

/** One window of a warm-up: a wave of short requests with prompts of its own. */
export function warmUpPlan(
  options: PointOptions,
  dialect: Dialect | undefined,
  phase: string,
): LoadPlan {
  const plan = pointPlan({ ...options, expectedTokensPerSecond: null }, dialect, phase);
  const isOpen = plan.arrivals?.kind === 'open';
  const wave = isOpen ? OPEN_LOOP_WARM_UP : options.concurrency;
  const requests = options.warmUpRequests ?? wave;
  const { prompts } = plan;
  const turns = prompts.turns ?? 1;
  return {
    ...plan,
    arrivals: undefined,
    requests,
    concurrency: Math.min(wave, requests),
    outputTokens: Math.min(plan.outputTokens, WARM_UP_TOKENS),
    // First turns of sessions only: a window is one wave, without pauses.
    prompts: {
      name: prompts.name,
      cacheable: prompts.cacheable,
      natural: prompts.natural,
      prompt: (index) => prompts.prompt(index * turns),
    },
  };
}

/** Phase and concurrency are part of the salt: no point ever sees a prompt of another (C9). */
export function pointPrompts(
  { workload, salt, concurrency }: PointOptions,
  phase: string,
): PromptSource {
  return createPromptSource({ ...workload, salt: `${salt}/${concurrency}/${phase}` });
}
