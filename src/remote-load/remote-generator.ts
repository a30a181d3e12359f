import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { SshHost } from '../host/ssh-host.ts';
import { NoAnswerError } from '../load/network-failure.ts';
import type { MeasuredPoint, PointDeps, PointOptions } from '../load/point-options.ts';
import { promptSources } from '../load/prompts/create-prompt-source.ts';
import type { SystemdAccess } from '../server/systemd-access.ts';
import { loadFolder } from '../server/systemd-load-unit.ts';
import { refusedCommands } from '../server/systemd-rights.ts';
import { findNode, isSameMachineKind, nodeVersionOf } from './find-node.ts';
import type { GeneratorJob, GeneratorLine, GeneratorResult } from './generator-messages.ts';
import { makeLoadFolder, removeLoadFolder } from './load-folder.ts';
import { LoadHostError } from './load-host-error.ts';
import {
  endTransient,
  runTransient,
  type TransientCommand,
  type TransientEnd,
  transientControlWords,
  transientWords,
} from './transient-run.ts';

export interface RemoteGeneratorOptions {
  readonly access: SystemdAccess;
  readonly ssh: SshHost;
  /** The built load generator on this machine, one file. */
  readonly generatorPath: string;
  /** Node of this machine, copied when the server has none. Default: the one that runs this. */
  readonly nodePath?: string;
  /** Longest measurement, warm-up included, in wall seconds. */
  readonly limitSeconds: number;
  readonly clock: Clock;
}

/** Takes measurements from the server itself. Disposing removes what was copied. */
export interface RemoteGenerator extends AsyncDisposable {
  /** "its own Node 22.1.0", "a copied Node 20.20.2". */
  readonly runsOn: string;
  readonly measurePoint: (options: PointOptions, deps: PointDeps) => Promise<MeasuredPoint>;
}

/** `cannot`: the server runs no Node of ours or its own, or we may not start units there. */
export type RemoteGeneratorOutcome =
  | { readonly state: 'ready'; readonly generator: RemoteGenerator }
  | { readonly state: 'cannot'; readonly why: string };

/**
 * Copies the load generator to the server and finds a Node for it: the server's own, else a copy of
 * ours if it runs there.
 *
 * @throws LoadHostError when the copy fails: no space, no permission, a damaged file.
 */
export async function openRemoteGenerator(
  options: RemoteGeneratorOptions,
): Promise<RemoteGeneratorOutcome> {
  const { access, ssh } = options;
  const userId = access.sudo ? await idOf(ssh) : undefined;
  const own = await findNode(ssh);
  if (own === undefined && !(await isSameMachineKind(ssh))) {
    return { state: 'cannot', why: `${ssh.name} has no Node, and ours is for another machine` };
  }
  const folder = loadFolder(access);
  const node = own?.path ?? join(folder, 'node');
  const command = commandOf(folder, node, options.limitSeconds, userId);
  const words = [transientWords(access, command), ...transientControlWords(access)];
  const refused = access.sudo ? await refusedCommands(access, words) : [];
  if (refused.length > 0) {
    return { state: 'cannot', why: `sudo -n refuses on ${ssh.name}: ${refused.join('; ')}` };
  }
  await endTransient(access);
  await makeLoadFolder(access);
  try {
    let runsOn = own === undefined ? undefined : `its own Node ${own.version}`;
    if (own === undefined) {
      await copy(ssh, options.nodePath ?? process.execPath, node, 0o700);
      const version = await nodeVersionOf(ssh, node);
      if (version !== undefined) runsOn = `a copied Node ${version}`;
    }
    if (runsOn === undefined) {
      await removeLoadFolder(access);
      return { state: 'cannot', why: `${ssh.name} has no Node, and ours does not run there` };
    }
    await copy(ssh, options.generatorPath, join(folder, 'load-generator.cjs'), 0o600);
    return {
      state: 'ready',
      generator: {
        runsOn,
        measurePoint: async (point, deps) => measureThere(options, command, folder, point, deps),
        [Symbol.asyncDispose]: async () => {
          await endTransient(access);
          await removeLoadFolder(access);
        },
      },
    };
  } catch (error) {
    // The copy's own failure says more than that of cleaning up.
    await removeLoadFolder(access).catch(() => undefined);
    throw error;
  }
}

function commandOf(
  folder: string,
  node: string,
  limitSeconds: number,
  userId: number | undefined,
): TransientCommand {
  return {
    words: [node, ...['load-generator.cjs', 'job.json', 'result.json'].map((n) => join(folder, n))],
    outputPath: join(folder, 'output'),
    limitSeconds,
    userId,
  };
}

/** Takes one measurement there; the result is fetched when it has ended, however long the link was away. */
async function measureThere(
  { access, ssh, clock }: RemoteGeneratorOptions,
  command: TransientCommand,
  folder: string,
  point: PointOptions,
  { signal, onPhase, onProgress }: PointDeps,
): Promise<MeasuredPoint> {
  signal?.throwIfAborted();
  const resultPath = join(folder, 'result.json');
  await remove(ssh, resultPath, command.outputPath);
  const options = await withPromptsThere(ssh, folder, point);
  const job: GeneratorJob = { options };
  await inEnvironment(async () =>
    ssh.writeText(join(folder, 'job.json'), JSON.stringify(job), { mode: 0o600 }),
  );
  let phase: string | undefined;
  let lastLines = '';
  const end = await runTransient(access, command, {
    clock,
    signal,
    onOutput: (tail) => {
      lastLines = tail;
      for (const line of linesOf(tail)) {
        if ('progress' in line) onProgress?.(line.progress);
        else if (line.phase !== phase) {
          phase = line.phase;
          onPhase?.(line.phase);
        }
      }
    },
  });
  const text = await fetchText(ssh, resultPath);
  if (text === undefined) throw withoutResult(ssh, end, lastLines);
  const result = JSON.parse(text) as GeneratorResult;
  if (result.state === 'failed') {
    if (result.isNetworkFailure) throw new NoAnswerError(result.message);
    throw new Error(`the load generator on ${ssh.name}: ${result.message}`);
  }
  const { conditions } = result.point;
  const { prompts } = point.workload;
  return options === point
    ? result.point
    : { ...result.point, conditions: { ...conditions, prompts } };
}

/**
 * Why there is no result. Where systemd knows nothing of a failure, the machine was rebooted or
 * somebody stopped the unit: that says nothing about the load generator.
 */
function withoutResult(ssh: SshHost, { result }: TransientEnd, output: string): UserError {
  if (result === 'success') {
    return new UserError(`the load on ${ssh.name} was stopped before it had a result`);
  }
  const said = output.trim().split('\n').at(-1) ?? '';
  return new LoadHostError(
    `the load generator on ${ssh.name} ended without a result (${result})${said === '' ? '' : `: ${said}`}`,
    { hint: 'Is its disk full, or does something end processes there? The same command goes on.' },
  );
}

/** Prompts of a file are copied too; their name keeps its ending, which says how to read it. */
async function withPromptsThere(
  ssh: SshHost,
  folder: string,
  point: PointOptions,
): Promise<PointOptions> {
  const { prompts } = point.workload;
  if (Object.hasOwn(promptSources, prompts)) return point;
  const path = join(folder, `prompts${extname(prompts)}`);
  await copy(ssh, prompts, path, 0o600);
  return { ...point, workload: { ...point.workload, prompts: path } };
}

/** The lines of an output's end that are whole; the first may be cut. */
function linesOf(tail: string): GeneratorLine[] {
  return tail.split('\n').flatMap((line): GeneratorLine[] => {
    if (!line.startsWith('{') || !line.endsWith('}')) return [];
    try {
      return [JSON.parse(line) as GeneratorLine];
    } catch (error) {
      if (error instanceof SyntaxError) return [];
      throw error;
    }
  });
}

async function copy(ssh: SshHost, from: string, to: string, mode: number): Promise<void> {
  await inEnvironment(async () => ssh.putFile(from, to, { mode }));
}

/** What fails here is the machine's fault, and clearly said already. */
async function inEnvironment(operate: () => Promise<void>): Promise<void> {
  try {
    await operate();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new LoadHostError(error.message, {
      hint: `${error.hint ?? ''} Or send the load from here with measure.load_from: here.`.trim(),
      cause: error,
    });
  }
}

/** Text of a file there by way of a checked copy; undefined when there is none. */
async function fetchText(ssh: SshHost, path: string): Promise<string | undefined> {
  const there = await ssh.run({
    argv: ['test', '-e', path],
    timeoutMs: 30_000,
    repeatable: true,
  });
  if (there.exitCode !== 0) return undefined;
  const local = join(tmpdir(), `nightsweep-${randomUUID()}.json`);
  try {
    await ssh.getFile(path, local);
    return await readFile(local, 'utf8');
  } finally {
    await rm(local, { force: true });
  }
}

async function remove(ssh: SshHost, ...paths: readonly string[]): Promise<void> {
  await ssh.run({ argv: ['rm', '-f', '--', ...paths], timeoutMs: 30_000, repeatable: true });
}

async function idOf(ssh: SshHost): Promise<number> {
  const { stdout } = await ssh.run({ argv: ['id', '-u'], timeoutMs: 30_000, repeatable: true });
  return Number(stdout.trim());
}
