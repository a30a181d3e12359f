import type { Study, WorkloadConfig } from '../config/study.ts';
import { EndOfSweepError, UserError } from '../errors.ts';
import { redactArgv, redactText } from '../sglang/redact.ts';
import { compareIdentity } from '../storage/compare-identity.ts';
import type { StoredStudy, StudyIdentity, StudyStore } from '../storage/study-store.ts';
import { arrivalsText } from './point-workload.ts';
import type { Production } from './production.ts';

/** What a study's measurements depend on, without secrets. */
export function identityOf(study: Study, production: Production): StudyIdentity {
  return {
    name: study.name,
    workload: workloadFacts(study),
    profile: study.profile,
    scoreKind: study.objective.score,
    limits: study.objective.limits.map((limit) => limit.text),
    sglangVersion: production.version,
    baselineArgv: redactArgv(production.argv),
    unitText: redactText(production.unitText),
    helpText: production.text,
    seed: study.workload.seed,
  };
}

/** The parts of the study file that decide what a number means. */
function workloadFacts({ workload, measure }: Study): Readonly<Record<string, unknown>> {
  const { prompts, inputTokens, outputTokens, ignoreEos, api, requests, tokenId } = workload;
  return {
    prompts,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ignore_eos: ignoreEos,
    api,
    requests: requests ?? null,
    token_id: tokenOf(workload, tokenId),
    warm_up_requests: measure.warmUp.requests ?? null,
    // Only where set: studies stored before these keys existed go on.
    ...shapeFacts(workload),
  };
}

function shapeFacts({
  arrivals,
  session,
  idRange,
  sharedPrefixFraction,
}: WorkloadConfig): Readonly<Record<string, unknown>> {
  return {
    ...(arrivals !== undefined && { arrivals: arrivalsText(arrivals) }),
    ...(session !== undefined && { session }),
    ...(idRange !== undefined && { id_range: idRange }),
    ...(sharedPrefixFraction !== undefined && { shared_prefix: sharedPrefixFraction }),
  };
}

function tokenOf({ prompts }: WorkloadConfig, tokenId: number): number | null {
  return prompts === 'fixed-token' ? tokenId : null;
}

/**
 * The stored study of this name, created if there is none.
 *
 * What changes what a number means is refused with every difference named; what only changes the
 * ranking (profile, score, limits) is taken over.
 */
export function openStudy(store: StudyStore, given: StudyIdentity, nowMs: number): StoredStudy {
  const stored = store.findStudy(given.name);
  if (stored === undefined) return store.createStudy(given, nowMs);
  const differences = compareIdentity(stored, given);
  const forbidden = differences.filter(({ effect }) => effect === 'forbidden');
  if (forbidden.length > 0) {
    const list = forbidden.map((one) => `${one.field}: ${one.stored} -> ${one.given}`).join('; ');
    throw new UserError(`study ${given.name} was measured under other conditions: ${list}`, {
      hint: 'give the study another name (study: ...), or undo the change to go on with this one',
    });
  }
  if (differences.length === 0 && stored.sglangVersion === given.sglangVersion) return stored;
  return store.updateStudy(stored.id, {
    ...given,
    sglangVersion: given.sglangVersion ?? stored.sglangVersion,
  });
}

/**
 * Stores the version that a server of the study reports, where the study did not know it yet.
 *
 * @throws UserError when the study was measured with another one: rows of two versions are never
 *   ranked together (field report B10).
 */
export function keepVersion(store: StudyStore, study: string, version: string): void {
  const stored = store.findStudy(study);
  if (stored === undefined || stored.sglangVersion === version) return;
  if (stored.sglangVersion !== null) {
    throw new EndOfSweepError(
      `study ${study} was measured with SGLang ${stored.sglangVersion}, but the server that was started runs ${version}`,
      { hint: 'go on with the old version, or give the study another name (study: ...)' },
    );
  }
  store.updateStudy(stored.id, { ...stored, sglangVersion: version });
}
