import { dirname, resolve } from 'node:path';
import { isSecretFlag, isSecretName } from '../sglang/secret-names.ts';
import { readSeconds } from './number-fields.ts';
import { type Problems, show, suggest } from './problems.ts';
import { SELF_PLACEHOLDER } from './self-command.ts';
import type { TargetConfig } from './study.ts';
import type { TargetSection } from './study-schema.ts';

/** SGLang's own default port; the loopback address because the load runs where the server runs. */
const DEFAULT_BASE_URL = 'http://127.0.0.1:30000';
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KINDS = ['unit', 'unit_file', 'command'] as const;

export interface TargetContext {
  /** Path of the study file: relative paths in it are relative to its folder. */
  readonly file: string;
  /** What `$nightsweep` stands for. */
  readonly self: readonly string[];
}

/** The target of a study file; mistakes go to `problems`. */
export function readTarget(
  section: TargetSection,
  context: TargetContext,
  problems: Problems,
): TargetConfig {
  checkKind(section, problems);
  checkSsh(section.ssh, problems);
  const fromFile = (path: string) => resolve(dirname(context.file), path);
  const apiKeyEnv = readApiKeyEnv(section.api_key_env, problems);
  const unit = readUnit(section.unit, problems);
  const command = readWords('command', section.command, context.self, problems);
  const program = readWords('program', section.program, context.self, problems);
  return {
    ...(section.ssh !== undefined && { ssh: section.ssh }),
    ...(unit !== undefined && { unit }),
    ...(section.user !== undefined && { user: section.user }),
    ...(section.lease !== undefined && {
      leaseSeconds: readSeconds(['target', 'lease'], section.lease, problems),
    }),
    ...(section.unit_file !== undefined && { unitFile: fromFile(section.unit_file) }),
    ...(command !== undefined && { command }),
    ...(program !== undefined && { program }),
    environment: readEnvironment(section.environment ?? {}, problems),
    ...(section.working_directory !== undefined && {
      workingDirectory: fromFile(section.working_directory),
    }),
    baseUrl: readBaseUrl(section.base_url ?? DEFAULT_BASE_URL, problems),
    ...(apiKeyEnv !== undefined && { apiKeyEnv }),
  };
}

function checkKind(section: TargetSection, problems: Problems): void {
  const given = KINDS.filter((kind) => section[kind] !== undefined);
  if (given.length !== 1) {
    const got = given.length === 0 ? 'none is given' : `${given.join(' and ')} are given`;
    problems.add(['target'], `expected exactly one of ${KINDS.join(', ')}: ${got}`, { at: 'key' });
  }
  if (section.program !== undefined && section.command !== undefined) {
    problems.add(
      ['target', 'program'],
      'goes with unit or unit_file only: a command names its own',
      {
        at: 'key',
      },
    );
  }
  if (section.working_directory !== undefined && section.unit !== undefined) {
    problems.add(['target', 'working_directory'], 'goes with unit_file and command only', {
      at: 'key',
      hint: 'a unit runs in its own WorkingDirectory',
    });
  }
  for (const key of ['user', 'lease'] as const) {
    if (section[key] !== undefined && section.unit === undefined) {
      problems.add(['target', key], 'goes with unit only', { at: 'key' });
    }
  }
  if (section.ssh !== undefined && section.unit === undefined && given.length === 1) {
    problems.add(['target', 'ssh'], 'goes with unit only: on another machine a unit is tuned');
  }
}

function checkSsh(ssh: string | undefined, problems: Problems): void {
  // A leading dash would be an option of ssh.
  if (ssh !== undefined && !/^(?!-)[^\s]+$/.test(ssh)) {
    problems.add(['target', 'ssh'], `expected an ssh alias or user@host, got ${show(ssh)}`);
  }
}

function readUnit(unit: string | undefined, problems: Problems): string | undefined {
  if (unit === undefined) return undefined;
  if (unit.includes('/')) {
    problems.add(['target', 'unit'], `expected the name of a unit, got the path ${show(unit)}`, {
      hint: 'a unit file on disk goes into target.unit_file',
    });
  } else if (!/^[A-Za-z0-9:_.\\@-]+$/.test(unit)) {
    problems.add(['target', 'unit'], `${show(unit)} is not the name of a systemd unit`);
  }
  return unit.endsWith('.service') ? unit : `${unit}.service`;
}

function readApiKeyEnv(name: string | undefined, problems: Problems): string | undefined {
  if (name !== undefined && !ENV_NAME.test(name)) {
    // Not shown: it may be the key itself.
    problems.add(['target', 'api_key_env'], 'is not the name of an environment variable', {
      hint: 'name the variable here, and keep the key itself in it',
    });
  }
  return name;
}

function readWords(
  key: 'command' | 'program',
  written: readonly (string | number)[] | undefined,
  self: readonly string[],
  problems: Problems,
): readonly string[] | undefined {
  if (written === undefined) return undefined;
  if (written.length === 0) problems.add(['target', key], 'is an empty list');
  return written.flatMap((word, index) => {
    const text = String(word);
    const path = ['target', key, index];
    if (text === SELF_PLACEHOLDER) return self;
    if (text.startsWith('-') && isSecretFlag(text.split('=')[0] ?? text)) {
      problems.add(path, 'a key may not stand in a study file', {
        hint: 'name the environment variable that holds it: target.api_key_env',
      });
    } else if (/^\$\w|\$\{\w/.test(text)) {
      problems.add(path, `${show(text)}: variables are not expanded here`, {
        hint: hintForVariable(text),
      });
    }
    return [text];
  });
}

/** A compose file's default (`${STEPS:-3}`) is what its server gets unless somebody sets the variable. */
function hintForVariable(text: string): string | undefined {
  const { name, value } = /\$\{(?<name>\w+):?-(?<value>[^}]*)\}/.exec(text)?.groups ?? {};
  if (name !== undefined) return `write the value itself: ${String(value)} unless ${name} is set`;
  return text.startsWith('${') ? 'write the value itself' : suggest(text, [SELF_PLACEHOLDER]);
}

function readEnvironment(
  written: Readonly<Record<string, string | number>>,
  problems: Problems,
): Readonly<Record<string, string>> {
  for (const name of Object.keys(written)) {
    const path = ['target', 'environment', name];
    if (!ENV_NAME.test(name)) {
      problems.add(path, 'is not the name of an environment variable', { at: 'key' });
    } else if (isSecretName(name)) {
      problems.add(path, 'a key may not stand in a study file', {
        hint: "set it where nightsweep is started, or in the unit's EnvironmentFile",
      });
    }
  }
  return Object.fromEntries(Object.entries(written).map(([name, value]) => [name, String(value)]));
}

function readBaseUrl(written: string, problems: Problems): string {
  const problem = (message: string, hint?: string): string => {
    problems.add(['target', 'base_url'], message, { hint });
    return written;
  };
  if (!URL.canParse(written)) {
    return problem(`${show(written)} is not an address`, `e.g. ${DEFAULT_BASE_URL}`);
  }
  const url = new URL(written);
  if (url.username !== '' || url.password !== '') {
    return problem('holds a user or password', 'use target.api_key_env');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return problem(`expected http:// or https://, got ${show(written)}`);
  }
  if (url.search !== '' || url.hash !== '' || /\/v1\/?$/.test(url.pathname)) {
    return problem(`expected the address of the server alone, got ${show(written)}`, url.origin);
  }
  return written.replace(/\/+$/, '');
}
