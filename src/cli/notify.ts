import type { NotifyConfig, NotifyEvent } from '../config/study.ts';
import type { Host } from '../host/host.ts';
import { redactText } from '../sglang/redact.ts';

/** Longer would hold the end of a sweep up. */
const TIMEOUT_MS = 10_000;

export interface Notice {
  readonly event: NotifyEvent;
  readonly study: string;
  /** One or a few sentences for people. */
  readonly text: string;
}

export interface NotifierDeps {
  readonly host: Host;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Told when a notice could not be delivered. */
  readonly warn: (line: string) => void;
}

export type Notify = (notice: Notice) => Promise<void>;

/**
 * Tells people what a sweep wants them to know: a JSON POST to the webhook, and the same JSON on
 * standard input of the command. Text is redacted first. Never throws and never takes longer than
 * ten seconds: a notifier that fails must not harm a sweep.
 */
export function createNotifier(config: NotifyConfig | undefined, deps: NotifierDeps): Notify {
  return async (notice) => {
    if (config?.on.includes(notice.event) !== true) return;
    const body = bodyOf(config, { ...notice, text: redactText(notice.text) });
    await Promise.all([
      guarded('webhook', () => postToWebhook(config, body, deps), deps),
      guarded('command', () => runCommand(config, body, deps), deps),
    ]);
  };
}

async function guarded(
  what: string,
  deliver: () => Promise<void>,
  { warn }: NotifierDeps,
): Promise<void> {
  try {
    await deliver();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    warn(`warning: the notify ${what} failed: ${redactText(why)}`);
  }
}

async function postToWebhook(
  { webhook, webhookEnv }: NotifyConfig,
  body: string,
  { environment }: NotifierDeps,
): Promise<void> {
  const address = webhookEnv === undefined ? webhook : environment[webhookEnv];
  if (address === undefined) {
    if (webhookEnv === undefined) return;
    throw new Error(`${webhookEnv} is not set`);
  }
  // Its address may be a secret, so no message may hold it.
  if (!URL.canParse(address)) throw new Error('the address is not a URL');
  const answer = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`HTTP status ${String(answer.status)}`);
}

async function runCommand(
  { command }: NotifyConfig,
  body: string,
  { host }: NotifierDeps,
): Promise<void> {
  if (command === undefined) return;
  const result = await host.run({ argv: command, input: body, timeoutMs: TIMEOUT_MS });
  if (result.timedOut) throw new Error(`${command[0] ?? ''} took longer than 10 s`);
  if (result.exitCode !== 0) {
    throw new Error(`${command[0] ?? ''} ended with exit code ${String(result.exitCode)}`);
  }
}

/** `$event`, `$study` and `$text` of the given body, written so that JSON stays JSON. */
function bodyOf({ body }: NotifyConfig, notice: Notice): string {
  if (body === undefined) return JSON.stringify(notice);
  return body.replace(/\$(event|study|text)\b/g, (_, name: keyof Notice) =>
    JSON.stringify(notice[name]).slice(1, -1),
  );
}
