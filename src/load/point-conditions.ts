import type { LoadPlan, LoadRun } from './load-run.ts';
import type { MeasuredPoint, PointOptions } from './point-options.ts';
import type { Prepared } from './point-warm-up.ts';
import type { WarmUp } from './warm-up.ts';

/** How a point was taken: what is stored beside its metrics. */
export function pointConditions(
  options: PointOptions,
  plan: LoadPlan,
  run: LoadRun,
  ready: Prepared,
): MeasuredPoint['conditions'] {
  const { arrivals } = plan;
  const { selfCheck } = run;
  return {
    prompts: plan.prompts.name,
    prompt_seed: options.workload.seed,
    prompt_salt: options.salt,
    api: plan.api,
    arrivals: arrivals?.kind === 'open' ? arrivals.process : 'closed loop',
    think_time_ms: arrivals?.kind === 'closed' ? (arrivals.thinkTimeMs ?? 0) : 0,
    requests: plan.requests,
    time_scale: plan.timeScale,
    ...warmUpConditions(ready),
    ended_in: ready.cutShort === undefined ? 'measurement' : 'warm-up',
    event_loop_delay_p99_ms: selfCheck.eventLoopDelayP99Ms,
    client_cpu_fraction: selfCheck.cpuFraction,
    client_cpu_wait_fraction: selfCheck.cpuWaitFraction ?? null,
    dispatch_lag_p99_ms: selfCheck.dispatchLagP99Ms,
    peak_in_flight: selfCheck.peakInFlight,
    end: run.end,
  };
}

function warmUpConditions({ first, flush, second }: Prepared): MeasuredPoint['conditions'] {
  return {
    warm_up_steps_per_second: first === undefined ? null : curveText(first),
    warm_up_settled: first?.settled ?? null,
    flushed: flush?.flushed ?? null,
    flush_attempts: flush?.attempts ?? null,
    flush_message: flush?.message ?? null,
    second_warm_up_steps_per_second: second === undefined ? null : curveText(second),
    second_warm_up_settled: second?.settled ?? null,
  };
}

/** `118.2 120.4`: in order, so that a reader sees what was still warming up. */
function curveText({ curve }: WarmUp): string {
  return curve.map((speed) => speed.toFixed(1)).join(' ');
}
