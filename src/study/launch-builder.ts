import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Assignment, ENV_PREFIX } from '../search-space/assignment.ts';
import { variableText } from '../search-space/values.ts';
import type { RunningServer } from '../server/target.ts';
import { applyAssignment } from '../sglang/apply-assignment.ts';
import { effectiveConfiguration } from '../sglang/effective-configuration.ts';
import { requireFlag } from '../sglang/flag-names.ts';
import { parseLaunchArgs } from '../sglang/launch-args.ts';
import { launchFlags } from '../sglang/launch-flags.ts';
import { serverName, strangerIn } from '../sglang/launch-identity.ts';
import { findLaunchProgram } from '../sglang/launch-program.ts';
import { redactArgv, redactEnvironment } from '../sglang/redact.ts';
import { mispredictions } from '../sglang/reported-configuration.ts';
import type { StoredTrial } from '../storage/study-store.ts';
import type { PreparedSweep } from './prepare.ts';
import type { Production } from './production.ts';
import type { ServerFacts } from './services.ts';
import type { LaunchBuilder } from './trial-launcher.ts';

/**
 * A crash otherwise waits up to 65 s for dumps that nobody reads (SGLang 0.5.23, environ.py:869-871).
 */
const QUICK_CRASH: Readonly<Record<string, string>> = {
  SGLANG_PYSPY_DUMP_BEFORE_CRASH: '0',
  SGLANG_CUDA_COREDUMP_BEFORE_CRASH: '0',
  SGLANG_CUDA_COREDUMP_BEFORE_CRASH_WAIT_SECS: '0',
};

/** The command and environment of an assignment, from production's own. */
export function commandOf(
  { argv, environment, help, version }: Production,
  assignment: Assignment,
): {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
} {
  const applied = applyAssignment(argv, assignment, help, { version: version ?? undefined });
  const variables = new Map(Object.entries(environment));
  for (const [name, value] of Object.entries(assignment)) {
    if (!name.startsWith(ENV_PREFIX)) continue;
    const variable = name.slice(ENV_PREFIX.length);
    const text = variableText(value);
    if (text === undefined) variables.delete(variable);
    else variables.set(variable, text);
  }
  return { argv: applied.argv, environment: Object.fromEntries(variables) };
}

/** Lines of the start-up log in which effective values are looked for. */
const START_LOG_LINES = 2000;

/**
 * Builds launches of a study on this machine, with one log file each, and reads back what they
 * run. A trial's server gets a name of its own where its version has a flag for that
 * (launch-identity.ts); the baseline is production's command word for word.
 */
export function createLaunchBuilder(
  { study, production, judge }: PreparedSweep,
  logFolder: string,
  launchesBefore: number,
): LaunchBuilder {
  const run = randomBytes(4).toString('hex');
  return {
    effective: (trial, facts, server) =>
      effectiveConfiguration({
        assignment: trial.assignment,
        serverInfo: facts.serverInfo ?? undefined,
        logLines: server.logTail(START_LOG_LINES),
        metricsText: facts.metricsText,
        environment: environmentIn(server, trial.assignment),
        processFlags: flagsIn(server, production),
        canonicalName: (name) => canonicalName(name, production),
      }),
    mispredictions: ({ assignment }, { serverInfo }) =>
      mispredictions(assignment, judge(assignment).predicted, serverInfo, (name) =>
        canonicalName(name, production),
      ),
    build: (trial: StoredTrial, launchNumber: number) => {
      const number = String(launchesBefore + launchNumber).padStart(4, '0');
      const name = trial.isBaseline ? undefined : serverName(production.help, `${run}-${number}`);
      const command = trial.isBaseline
        ? production
        : commandOf(production, { ...trial.assignment, ...name });
      return {
        request: {
          argv: command.argv,
          environment: { ...QUICK_CRASH, ...command.environment },
          ...(production.workingDirectory === undefined
            ? {}
            : { workingDirectory: production.workingDirectory }),
          baseUrl: study.target.baseUrl,
          logPath: join(logFolder, `launch-${number}-trial-${String(trial.number)}.log`),
        },
        shown: {
          argv: redactArgv(command.argv),
          environment: redactEnvironment(command.environment),
        },
        stranger: ({ serverInfo }: ServerFacts) =>
          strangerIn(serverInfo, command.argv, production.help, name),
      };
    },
  };
}

/** The swept variables that the running process has; undefined where they cannot be read. */
function environmentIn(
  server: RunningServer,
  assignment: Assignment,
): Readonly<Record<string, string>> | undefined {
  const names = Object.keys(assignment).filter((name) => name.startsWith(ENV_PREFIX));
  const values = names.map((name) => {
    const variable = name.slice(ENV_PREFIX.length);
    return [variable, server.variable?.(variable)] as const;
  });
  if (values.some(([, value]) => value === undefined)) return undefined;
  return Object.fromEntries(
    values.flatMap(([name, value]) => (value == null ? [] : [[name, value]])),
  );
}

/** Flags on the running process's command line; undefined where there is no SGLang launch to read. */
function flagsIn(server: RunningServer, { help, version }: Production): Assignment | undefined {
  const argv = server.commandLine?.();
  if (argv === undefined || findLaunchProgram(argv) === undefined) return undefined;
  return launchFlags(parseLaunchArgs(argv, help, { version: version ?? undefined }));
}

/** Name that server info and rules use for a parameter; itself for a variable. */
export function canonicalName(parameter: string, { help, version }: Production): string {
  if (parameter.startsWith(ENV_PREFIX)) return parameter;
  return requireFlag(parameter, help, version ?? undefined).name;
}
