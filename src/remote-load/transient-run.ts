import type { Clock } from '../clock.ts';
import { HostUnreachableError } from '../host/ssh-errors.ts';
import { type SystemdAccess, systemctl, systemdWords } from '../server/systemd-access.ts';
import { loadUnit } from '../server/systemd-load-unit.ts';
import { LoadHostError } from './load-host-error.ts';

/** A command to run on the target as a transient unit, which outlives the link to it. */
export interface TransientCommand {
  readonly words: readonly string[];
  /** Gets its standard output and error; must not exist before. */
  readonly outputPath: string;
  /** systemd ends it, with everything it started, after this long. */
  readonly limitSeconds: number;
  /** The user it runs as where root starts it; absent: whose systemd it is. */
  readonly userId?: number | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** How it ended. */
export interface TransientEnd {
  /** systemd's word: `success`, `exit-code`, `signal`, `timeout`, `oom-kill` … */
  readonly result: string;
  /** Null where a signal ended it. */
  readonly exitStatus: number | null;
}

const COMMAND_LIMIT_MS = 30_000;
const FIRST_POLL_MS = 100;
const LONGEST_POLL_MS = 2000;
/** Beyond its limit: systemd's own stop, and a link that has to come back. */
const SLACK_SECONDS = 900;
const START_ATTEMPTS = 3;
/** Kept of the output's end with each look. */
const TAIL_BYTES = 4096;

/** The words that start it, exactly as they are run. */
export function transientWords(access: SystemdAccess, command: TransientCommand): string[] {
  const { userId, environment = {} } = command;
  return systemdWords(
    access,
    'systemd-run',
    '--quiet',
    `--unit=${loadUnit(access)}`,
    '--service-type=exec',
    '--description=Load of nightsweep',
    `--property=StandardOutput=file:${command.outputPath}`,
    `--property=StandardError=file:${command.outputPath}`,
    `--property=RuntimeMaxSec=${String(command.limitSeconds)}`,
    '--property=TimeoutStopSec=5',
    // A connection per request in flight; a user's own systemd may not raise it.
    ...(access.userId === undefined ? ['--property=LimitNOFILE=65536'] : []),
    ...(userId === undefined ? [] : [`--uid=${String(userId)}`]),
    ...Object.entries(environment).map(([name, value]) => `--setenv=${name}=${value}`),
    '--',
    ...command.words,
  );
}

/** The words that end it and that forget how it ended; they need the same rights. */
export function transientControlWords(access: SystemdAccess): string[][] {
  const unit = `${loadUnit(access)}.service`;
  return ['stop', 'reset-failed'].map((verb) => systemdWords(access, 'systemctl', verb, unit));
}

/**
 * Runs a command on the target to its end. A link that breaks meanwhile changes nothing there: once
 * it is back the command goes on, or has ended.
 *
 * `onOutput` gets the last lines of the output at each look. When `signal` aborts, the command is
 * ended and its reason is thrown.
 *
 * @throws LoadHostError when systemd does not start it; HostUnreachableError when the machine stays
 *   away for longer than the command could run.
 */
export async function runTransient(
  access: SystemdAccess,
  command: TransientCommand,
  {
    clock,
    signal,
    onOutput,
  }: {
    readonly clock: Clock;
    readonly signal?: AbortSignal | undefined;
    readonly onOutput?: ((tail: string) => void) | undefined;
  },
): Promise<TransientEnd> {
  const deadlineMs = clock.nowMs() + (command.limitSeconds + SLACK_SECONDS) * 1000;
  try {
    await start(access, command);
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(1.5 * pollMs, LONGEST_POLL_MS)) {
      signal?.throwIfAborted();
      const seen = await look(access, command).catch((error: unknown) => {
        if (error instanceof HostUnreachableError && clock.nowMs() < deadlineMs) return undefined;
        throw error;
      });
      if (seen !== undefined) {
        if (seen.tail !== '') onOutput?.(seen.tail);
        if (seen.end !== undefined) {
          if (seen.end.result !== 'success') await forget(access);
          return seen.end;
        }
      }
      if (clock.nowMs() >= deadlineMs) {
        throw new LoadHostError(
          `systemd on ${access.host.name} does not tell how the load ends: it should have within ${String(command.limitSeconds)} s`,
          { hint: `Look at "systemctl status ${loadUnit(access)}" there.` },
        );
      }
      await clock.sleep(pollMs, signal);
    }
  } catch (error) {
    if (signal?.aborted === true) await endTransient(access);
    throw error;
  }
}

/** Ends whatever runs as the load of this unit; harmless when nothing does. */
export async function endTransient(access: SystemdAccess): Promise<void> {
  await systemctl(access, 'stop', `${loadUnit(access)}.service`);
  await forget(access);
}

async function forget(access: SystemdAccess): Promise<void> {
  await systemctl(access, 'reset-failed', `${loadUnit(access)}.service`);
}

/** A link that breaks while systemd is asked leaves open whether it did: then we look. */
async function start(access: SystemdAccess, command: TransientCommand): Promise<void> {
  const argv = transientWords(access, command);
  for (let attempt = 1; ; attempt += 1) {
    const result = await access.root
      .run({ argv, timeoutMs: COMMAND_LIMIT_MS })
      .catch((error: unknown) => {
        if (error instanceof HostUnreachableError) return undefined;
        throw error;
      });
    if (result?.exitCode === 0) return;
    if (result === undefined && (await hasBegun(access, command))) return;
    if (attempt < START_ATTEMPTS) {
      // One of an interrupted sweep may still have the name.
      await endTransient(access);
      continue;
    }
    const reason = result === undefined ? 'the link breaks each time' : result.stderr.trim();
    throw new LoadHostError(`the load cannot be started on ${access.host.name}: ${reason}`, {
      hint: 'Look at "journalctl -n 50" there, or send the load from here with measure.load_from: here.',
    });
  }
}

async function hasBegun(access: SystemdAccess, { outputPath }: TransientCommand): Promise<boolean> {
  const { exitCode } = await access.host.run({
    argv: ['test', '-e', outputPath],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  return exitCode === 0;
}

/** One short command: state and output's end. */
async function look(
  access: SystemdAccess,
  { outputPath }: TransientCommand,
): Promise<{ readonly end: TransientEnd | undefined; readonly tail: string } | undefined> {
  const show = systemdWords(
    access,
    'systemctl',
    'show',
    `${loadUnit(access)}.service`,
    '--property=ActiveState,Result,ExecMainCode,ExecMainStatus',
  );
  const script = `f=$1; shift; "$@" || exit 9; echo; tail -c ${String(TAIL_BYTES)} -- "$f" 2>/dev/null; exit 0`;
  const result = await access.host.run({
    argv: ['sh', '-c', script, 'sh', outputPath, ...show],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  if (result.exitCode !== 0) return undefined;
  const at = result.stdout.indexOf('\n\n');
  const head = at < 0 ? result.stdout : result.stdout.slice(0, at);
  const facts = new Map(
    head.split('\n').map((line) => {
      const equals = line.indexOf('=');
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
  return { end: endOf(facts), tail: at < 0 ? '' : result.stdout.slice(at + 2) };
}

/** systemd forgets a transient unit that ended well at once: then it is `inactive`, as an unknown one. */
function endOf(facts: ReadonlyMap<string, string>): TransientEnd | undefined {
  const state = facts.get('ActiveState');
  if (state === 'inactive') return { result: 'success', exitStatus: 0 };
  if (state !== 'failed') return undefined;
  // 1 is CLD_EXITED: the status is an exit code, not a signal.
  const exited = facts.get('ExecMainCode') === '1';
  return {
    result: facts.get('Result') ?? 'unknown',
    exitStatus: exited ? Number(facts.get('ExecMainStatus')) : null,
  };
}
