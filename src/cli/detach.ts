import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { selfCommand } from '../config/self-command.ts';
import type { Study } from '../config/study.ts';
import { EXIT, UserError } from '../errors.ts';
import { localHost } from '../host/local-host.ts';
import { PASSPHRASE_VARIABLE } from '../host/ssh-identities.ts';
import { makeFolder } from '../make-folder.ts';
import { launchCommand } from '../service-file/launch-command.ts';
import { askedPassphrase } from './ask-passphrase.ts';
import { Interrupted } from './boundary.ts';
import type { CliContext } from './context.ts';
import { followLog, GrowingFile } from './follow-log.ts';
import { reachTarget } from './reach-target.ts';

/** Tells a detached sweep where its output goes. */
export const LOG_VARIABLE = 'NIGHTSWEEP_LOG';

/** From this line on nothing is left that a person would have to mend at once. */
const BEGUN = /^launch \d+ /m;

/**
 * Starts the same sweep as a process of its own session, which a closed terminal does not reach,
 * and shows what it prints until its first launch has begun, or it ended.
 *
 * @param words of the sweep's command line, `--detach` left out.
 * @returns the sweep's exit code when it ended before (2 when it was killed); undefined when it goes
 *   on.
 */
export async function detachSweep(
  study: Study,
  words: readonly string[],
  { database, folder }: { readonly database: string; readonly folder: string },
  context: CliContext,
): Promise<number | undefined> {
  const signal = context.takeSignals();
  // Here somebody can still be asked for a passphrase.
  await (await reachTarget(study.target, context))[Symbol.asyncDispose]();
  const passphrase = await askedPassphrase();
  // A terminal that is closed already is what the sweep is detached from.
  const isHungUp = () =>
    signal.reason instanceof Interrupted && signal.reason.signalName === 'SIGHUP';
  if (!isHungUp()) signal.throwIfAborted();
  const log = join(folder, 'sweep.log');
  const output = openLog(folder, log);
  const from = statSync(log).size;
  const [program = '', ...main] = selfCommand();
  const child = spawn(program, [...main, 'sweep', ...words], {
    detached: true,
    stdio: ['ignore', output, output],
    env: {
      ...process.env,
      [LOG_VARIABLE]: log,
      ...(passphrase === undefined ? {} : { [PASSPHRASE_VARIABLE]: passphrase }),
    },
  });
  closeSync(output);
  const ended = once(child, 'exit');
  signal.addEventListener('abort', () => {
    if (!isHungUp()) child.kill('SIGINT');
  });
  let shown = '';
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const isOver = () => hasEnded() || isHungUp() || BEGUN.test(shown);
  await followLog(
    new GrowingFile(log, from),
    (text) => {
      shown += text;
      context.stdout(text);
    },
    isOver,
  );
  if (signal.aborted && !isHungUp()) {
    await ended;
    throw signal.reason;
  }
  if (hasEnded()) return child.exitCode ?? EXIT.operatorError;
  child.unref();
  await warnOfLogout(context);
  const name = launchCommand([
    'nightsweep',
    'status',
    '--study',
    study.name,
    '--db',
    database,
    '--follow',
  ]);
  context.stdout(
    `\nthe sweep goes on as process ${String(child.pid)}; this terminal may be closed\n  follow it: ${name}\n  its output: ${log}\n  end it, with production back: kill -INT ${String(child.pid)}\n`,
  );
  return undefined;
}

function openLog(folder: string, log: string): number {
  try {
    makeFolder(folder);
    return openSync(log, 'a', 0o600);
  } catch (error) {
    throw new UserError(`the output of the sweep cannot be written to ${log}`, { cause: error });
  }
}

/** Some machines end a user's processes at logout, sessions of their own included. */
async function warnOfLogout({ stderr }: Pick<CliContext, 'stderr'>): Promise<void> {
  const manager = ['/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];
  const asked = await localHost.run({
    argv: ['busctl', 'get-property', 'org.freedesktop.login1', ...manager, 'KillUserProcesses'],
    timeoutMs: 5000,
  });
  if (asked.stdout.trim() !== 'b true') return;
  stderr('warning: this machine ends your processes at logout (KillUserProcesses=yes)');
  stderr('  keep them: loginctl enable-linger, then start the sweep from "systemd-run --user"');
}
