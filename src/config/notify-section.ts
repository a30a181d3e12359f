import { type Problems, show } from './problems.ts';
import type { NotifyConfig } from './study.ts';
import { NOTIFY_EVENTS, type StudyFile } from './study-schema.ts';

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whom a sweep tells, and of what; mistakes go to `problems`. */
export function readNotify(
  section: NonNullable<StudyFile['notify']>,
  problems: Problems,
): NotifyConfig {
  const { webhook, webhook_env: variable, command, on, body } = section;
  if (webhook === undefined && variable === undefined && command === undefined) {
    problems.add(['notify'], 'names neither a webhook nor a command', { at: 'key' });
  }
  if (webhook !== undefined && variable !== undefined) {
    problems.add(['notify', 'webhook_env'], 'goes without webhook: both say where to post', {
      at: 'key',
    });
  }
  if (webhook !== undefined && !/^https?:$/.test(protocolOf(webhook))) {
    problems.add(['notify', 'webhook'], `expected http:// or https://, got ${show(webhook)}`, {
      hint: 'an address that is a secret itself goes into a variable: webhook_env',
    });
  }
  if (variable !== undefined && !ENV_NAME.test(variable)) {
    // Not shown: it may be the address itself.
    problems.add(['notify', 'webhook_env'], 'is not the name of an environment variable');
  }
  if (command?.length === 0) problems.add(['notify', 'command'], 'is an empty list');
  return {
    on: on ?? NOTIFY_EVENTS,
    ...(webhook !== undefined && { webhook }),
    ...(variable !== undefined && { webhookEnv: variable }),
    ...(command !== undefined && { command: command.map(String) }),
    ...(body !== undefined && { body }),
  };
}

function protocolOf(address: string): string {
  return URL.canParse(address) ? new URL(address).protocol : '';
}
