import type { EngineRequest } from './engine-request.ts';
import { asciiJson } from './request-body.ts';
import { textOf } from './resolution.ts';
import type { Runtime } from './runtime.ts';

/** Wall seconds since 1970 of a simulated moment, for fields that hold such. */
function wallSeconds(runtime: Runtime, simulatedMs: number): number {
  return (Date.now() - (runtime.clock.nowMs() - simulatedMs) / runtime.clock.speed) / 1000;
}

/** Part of `meta_info` that stays the same once the first token is there, as JSON without braces. */
export function metaStart(runtime: Runtime, request: EngineRequest): string {
  const weightVersion = textOf(runtime.launch.fields, 'weight_version') ?? 'default';
  return `"prompt_tokens":${request.promptTokens},"weight_version":${asciiJson(weightVersion)},"num_retractions":${request.retractions},"storage_prefetch_wait":0.0,"storage_staging_wait":0.0,${metricsTimes(runtime, request)}"reasoning_tokens":0,`;
}

/** Times that SGLang adds with `--enable-metrics` only. */
function metricsTimes(runtime: Runtime, request: EngineRequest): string {
  if (runtime.launch.fields['enable_metrics'] !== true) return '';
  const scheduled = request.scheduledAtMs ?? request.arrivedAtMs;
  const queued = Math.max(0, scheduled - request.arrivedAtMs) / 1000;
  const first = request.firstTokenAtMs ?? scheduled;
  return `"forward_entry_time":${wallSeconds(runtime, scheduled)},"prefill_finished_time":${wallSeconds(runtime, first)},"queue_time":${queued},`;
}

/** Fields of an answer that has ended. */
function metaEnd(runtime: Runtime, request: EngineRequest, sentInside: string): string {
  const { arrivedAtMs, lastTokenAtMs = arrivedAtMs, firstTokenAtMs = arrivedAtMs } = request;
  const latency = (lastTokenAtMs - arrivedAtMs) / 1000;
  let text = `,"e2e_latency":${latency}`;
  const { speculation } = runtime.settings;
  if (speculation !== undefined) {
    const { verifyCount, acceptedHistogram } = request;
    const histogram = Array.from(acceptedHistogram, (count: number | undefined) => count ?? 0);
    const accepted = histogram.reduce((sum, count, i) => sum + count * i, 0);
    const proposed = verifyCount * Math.max(0, speculation.draftTokens - 1);
    const rate = proposed === 0 ? 0 : accepted / proposed;
    const length = verifyCount === 0 ? 0 : request.outputTokens / verifyCount;
    text += `,"spec_accept_rate":${rate},"spec_accept_length":${length},"spec_num_correct_drafts":${accepted},"spec_num_proposed_drafts":${proposed},"spec_verify_ct":${verifyCount},"spec_correct_drafts_histogram":${JSON.stringify(histogram)}`;
  }
  if (runtime.launch.fields['enable_metrics'] !== true) return text;
  const decodeSeconds = Math.max(1e-6, (lastTokenAtMs - firstTokenAtMs) / 1000);
  return `${text},"request_received_ts":${wallSeconds(runtime, arrivedAtMs)},"first_token_latency":${(firstTokenAtMs - arrivedAtMs) / 1000},"api_server_dispatch_finish_ts":${wallSeconds(runtime, arrivedAtMs)}${sentInside},"request_finished_ts":${wallSeconds(runtime, lastTokenAtMs)},"decode_throughput":${request.outputTokens / decodeSeconds}`;
}

/** `meta_info` of `/generate` as JSON, in an event or a whole answer; `start` is {@link metaStart}. */
export function metaInfo(
  runtime: Runtime,
  request: EngineRequest,
  start: string,
  place: 'first' | 'later' | 'whole',
): string {
  const { finish, outputTokens, cachedTokens } = request;
  const details = cachedTokens === 0 ? 'null' : `{"device":${cachedTokens},"host":0}`;
  const weightVersion = asciiJson(textOf(runtime.launch.fields, 'weight_version') ?? 'default');
  const versions =
    finish === undefined
      ? ''
      : `"weight_versions":[{"version":${weightVersion},"start":0,"end":${outputTokens}}],`;
  const sent = `,"response_sent_to_client_ts":${Date.now() / 1000}`;
  const timed = runtime.launch.fields['enable_metrics'] === true;
  // A stream's last event has it among the times, where SGLang writes those.
  const inside = place === 'whole' ? '' : sent;
  const end = finish === undefined ? '' : metaEnd(runtime, request, inside);
  const last =
    place === 'whole' || (place === 'first' && (finish === undefined || !timed)) ? sent : '';
  return `{"id":"${request.id}","finish_reason":${finish === undefined ? 'null' : JSON.stringify(finish)},${start}"completion_tokens":${outputTokens},"cached_tokens":${cachedTokens},${versions}"cached_tokens_details":${details},"dp_rank":null${end}${last}}`;
}
