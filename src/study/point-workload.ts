import type { ArrivalsConfig, WorkloadConfig } from '../config/study.ts';
import type { PointWorkload } from '../load/point-options.ts';
import { DEFAULT_PAUSE_SECONDS, DEFAULT_TURNS } from '../load/prompts/session-prompts.ts';
import { requestsOfPoint } from '../load/requests-of-point.ts';

/** The workload at one concurrency of the profile: an open loop has as many users as that. */
export function pointWorkload(workload: WorkloadConfig, concurrency: number): PointWorkload {
  const { arrivals, ...rest } = workload;
  if (arrivals?.kind !== 'open') return workload as PointWorkload;
  const { requestsPerSecondPerUser, ...open } = arrivals;
  const requestsPerSecond = requestsPerSecondPerUser * concurrency;
  return { ...rest, arrivals: { ...open, requestsPerSecond, seed: workload.seed } };
}

/** Requests of a measurement at this concurrency. */
export function pointRequests(workload: WorkloadConfig, concurrency: number): number {
  const { arrivals } = pointWorkload(workload, concurrency);
  return requestsOfPoint(concurrency, workload.requests, {
    turns: turnsOf(workload),
    requestsPerSecond: arrivals?.kind === 'open' ? arrivals.requestsPerSecond : undefined,
  });
}

/** Seconds that the places of a measurement spend waiting to send, beside the answers. */
export function pauseSeconds(workload: WorkloadConfig, concurrency: number): number {
  const { arrivals, prompts, session } = workload;
  const requests = pointRequests(workload, concurrency);
  if (arrivals?.kind === 'open') {
    return requests / (arrivals.requestsPerSecondPerUser * concurrency);
  }
  const pause = prompts === 'agentic' ? (session?.pauseSeconds ?? DEFAULT_PAUSE_SECONDS) : 0;
  return ((pause + (arrivals?.thinkTimeMs ?? 0) / 1000) * requests) / concurrency;
}

function turnsOf({ prompts, session }: WorkloadConfig): number {
  return prompts === 'agentic' ? (session?.turns ?? DEFAULT_TURNS) : 1;
}

/** `open loop, gamma (burstiness 0.5), 0.2 requests/s of each user`, for the method section. */
export function arrivalsText(arrivals: ArrivalsConfig): string {
  if (arrivals.kind === 'closed') {
    return `closed loop, think time ${String(arrivals.thinkTimeMs / 1000)} s`;
  }
  const { process, burstiness, requestsPerSecondPerUser } = arrivals;
  const shape = burstiness === undefined ? '' : ` (burstiness ${String(burstiness)})`;
  return `open loop, ${process}${shape}, ${String(requestsPerSecondPerUser)} requests/s of each user, timed from when a request was due`;
}
