import {
  argumentError,
  childDied,
  type Direction,
  type FailureKind,
  failureSignatures,
  nativeCrash,
  proxySigns,
  warmUpFailed,
} from './failure-signatures.ts';
import { type PythonException, pythonExceptions } from './python-traceback.ts';
import { redactText } from './redact.ts';
import { type StartupStage, startupProgress } from './startup-stage.ts';

export type { Direction, FailureKind };

/** How the server ended, structurally the `ServerExit` of server/target.ts. */
export interface ExitFacts {
  readonly code: number | null;
  readonly signal: string | null;
  /** We asked it to end. Any other end is a crash, whatever the status (field report A9). */
  readonly requested: boolean;
}

export interface FailureFacts {
  /** `start`: until the first real completion; `serving`: after it. */
  readonly phase: 'start' | 'serving';
  /** Null: it still ran when it was given up. */
  readonly exit: ExitFacts | null;
  /** The log, oldest first; the last few hundred lines are enough. */
  readonly logLines: readonly string[];
  /** Our own limit ended it: no progress (`stall`) or too long altogether (`total`). */
  readonly timedOut?: 'stall' | 'total';
}

/**
 * Why a launch failed.
 *
 * `infeasible`: a fact about the flags, never retried. `environment`: not the flags' fault,
 * retried. `unknown`: the log does not say; retry once, and take the same again for infeasible.
 */
export interface FailureCause {
  readonly code: string;
  readonly kind: FailureKind;
  /** One line for people, without secrets. */
  readonly message: string;
  readonly stage: StartupStage;
  /** Flags whose value was too high or too low, the likeliest first; empty when nothing is known. */
  readonly directions: readonly Direction[];
}

type Verdict = Omit<FailureCause, 'stage'>;

function verdict(
  code: string,
  kind: FailureKind,
  message: string,
  directions: readonly Direction[] = [],
): Verdict {
  return { code, kind, message: message.trim(), directions };
}

/** `[2026-11-30 18:20:31 TP0] text` -> `text`. */
function withoutPrefix(line: string): string {
  return line.replace(/^\[\d{4}-\d\d-\d\d [\d:.]+[^\]]*\]\s*/, '').replace(/^ERROR:\s+/, '');
}

/** SGLang prints its flags with their help texts and defaults: neither is a failure. */
function tellingLines(logLines: readonly string[]): string[] {
  return logLines
    .filter(
      (line) =>
        !/server_args=|^\s+--|^usage:|^\s*\[--|warnings\.warn|UserWarning|Ignore import error/.test(
          line,
        ),
    )
    .map(withoutPrefix);
}

function bySignature(lines: readonly string[]): Verdict | undefined {
  for (const { code, kind, pattern, directions } of failureSignatures) {
    const line = lines.find((text) => pattern.test(text));
    if (line !== undefined) return verdict(code, kind, line, directions);
  }
  return undefined;
}

function byArgumentError(lines: readonly string[]): Verdict | undefined {
  const message = lines.map((line) => argumentError.exec(line)?.groups?.['message']).find(Boolean);
  return message === undefined ? undefined : verdict('argument-error', 'infeasible', message);
}

/** While serving, tracebacks of refused requests are normal: only a fatal one counts. */
function fromFatal(lines: readonly string[]): string[] {
  const fatal = lines.findIndex((line) => /hit an exception/.test(line));
  return fatal === -1 ? [] : lines.slice(fatal);
}

/** Limits that a Python exception names in its own words. */
function directionsOf(message: string): Direction[] {
  if (/context_length \(\d+\) is greater than the derived/.test(message))
    return [{ flag: 'context-length', value: 'too-high' }];
  return [];
}

/**
 * A Python exception that no signature knows. The production flags started on this machine
 * before, so an exception at start follows from the flags that differ; while serving it may not.
 */
function byException(
  exceptions: readonly PythonException[],
  { phase }: FailureFacts,
  stage: StartupStage,
): Verdict | undefined {
  const last = exceptions.at(-1);
  if (last === undefined) return undefined;
  const message = `${last.type}: ${last.message}`;
  if (
    /^(?:ModuleNotFoundError|ImportError)$/.test(last.type) ||
    /minimum required version/.test(message)
  )
    return verdict('missing-package', 'infeasible', message);
  if (/PermissionError/.test(last.type)) return verdict('no-permission', 'environment', message);
  if (/Connection|Timeout|SSLError/.test(last.type))
    return verdict('network', 'environment', message);
  if (phase === 'serving') return verdict('server-exception', 'unknown', message);
  const early = ['silent', 'importing', 'arguments'].includes(stage);
  return verdict(
    early ? 'invalid-combination' : 'scheduler-exception',
    'infeasible',
    message,
    directionsOf(message),
  );
}

function byWarmUp(
  lines: readonly string[],
  exceptions: readonly PythonException[],
): Verdict | undefined {
  const line = lines.find((text) => warmUpFailed.test(text));
  if (line === undefined) return undefined;
  const last = exceptions.at(-1);
  const message = `the server's own warm-up failed: ${last?.type ?? ''} ${last?.message ?? ''}`;
  const isProxy = proxySigns.test(message) || lines.some((text) => /ProxyError/.test(text));
  return isProxy
    ? verdict('warm-up-through-proxy', 'environment', message)
    : verdict('warm-up-failed', 'unknown', message);
}

function byTimeout({ timedOut, phase }: FailureFacts, stage: StartupStage): Verdict | undefined {
  if (timedOut === undefined) return undefined;
  if (phase === 'serving')
    return verdict('serving-hang', 'unknown', 'requests made no progress while the server ran on');
  return timedOut === 'stall'
    ? verdict('startup-hang', 'unknown', `no new log line at stage "${stage}"`)
    : verdict(
        'start-limit',
        'unknown',
        `still at stage "${stage}" when the start limit was reached`,
      );
}

function describeExit(exit: ExitFacts | null): string {
  if (exit === null) return 'the server did not answer, its process ran on';
  const how = exit.signal === null ? `status ${exit.code ?? 'unknown'}` : `signal ${exit.signal}`;
  return `the server ended with ${how} without being asked`;
}

function byExit(lines: readonly string[], { exit, phase }: FailureFacts): Verdict {
  const died = lines.find((line) => childDied.test(line));
  if (exit?.requested === true && died === undefined)
    return verdict('stopped', 'environment', 'the server was stopped on request');
  const native = lines.find((line) => nativeCrash.test(line));
  if (native !== undefined) return verdict('native-crash', 'unknown', native);
  if (died !== undefined) return verdict('process-killed', 'unknown', died);
  if (exit?.code === 126 || exit?.code === 127)
    return verdict('not-installed', 'environment', `${describeExit(exit)}; ${lines.at(-1) ?? ''}`);
  if (exit === null) return verdict('not-ready', 'unknown', describeExit(exit));
  return verdict(phase === 'start' ? 'died-at-start' : 'crashed', 'unknown', describeExit(exit));
}

/**
 * Why a launch failed, from its log, its end and our own limits.
 *
 * The exit status tells almost nothing: SGLang ends itself with SIGKILL on most failures, exits 0
 * on others, and hangs on some, so the log decides. The order: known texts, argument errors,
 * failed warm-up, the last Python exception, our time limits, and at last the exit status.
 * @param secrets values from `secretValues`; the message never holds one.
 */
export function classifyFailure(
  facts: FailureFacts,
  secrets: readonly string[] = [],
): FailureCause {
  const { stage } = startupProgress(facts.logLines);
  const lines = tellingLines(facts.logLines);
  const exceptions = pythonExceptions(facts.phase === 'start' ? lines : fromFatal(lines));
  const found =
    byArgumentError(lines) ??
    bySignature(lines) ??
    byWarmUp(lines, exceptions) ??
    byException(exceptions, facts, stage) ??
    byTimeout(facts, stage) ??
    byExit(lines, facts);
  const message = redactText(found.message, secrets).slice(0, 600);
  return { ...found, message, stage };
}
