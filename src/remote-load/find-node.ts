import type { Host } from '../host/host.ts';

/** Oldest Node that runs the load generator: what the build is made for. */
export const OLDEST_NODE = { major: 20, minor: 19 } as const;

const COMMAND_LIMIT_MS = 30_000;

/** A Node on the server. */
export interface FoundNode {
  readonly path: string;
  /** Without the `v`. */
  readonly version: string;
}

/** The server's own Node, when it has one that is new enough. */
export async function findNode(host: Host): Promise<FoundNode | undefined> {
  const { stdout } = await host.run({
    argv: ['sh', '-c', 'command -v node && node --version'],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const [path, version] = stdout.trim().split('\n');
  if (path?.startsWith('/') !== true || version === undefined) return undefined;
  return isNewEnough(version) ? { path, version: version.slice(1) } : undefined;
}

/** What `path --version` says on the host; undefined when it does not run there. */
export async function nodeVersionOf(host: Host, path: string): Promise<string | undefined> {
  const { exitCode, stdout } = await host.run({
    argv: [path, '--version'],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const version = stdout.trim();
  return exitCode === 0 && /^v\d+\.\d+\.\d+/.test(version) ? version.slice(1) : undefined;
}

/** Whether programs of this machine can be meant for that one: the same kind of processor, Linux. */
export async function isSameMachineKind(host: Host): Promise<boolean> {
  const { stdout } = await host.run({
    argv: ['uname', '-s', '-m'],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const machines: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };
  return process.platform === 'linux' && stdout.trim() === `Linux ${machines[process.arch] ?? '?'}`;
}

/** `v20.19.0` and later. */
export function isNewEnough(version: string): boolean {
  const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(version) ?? [];
  if (major === undefined || minor === undefined) return false;
  if (Number(major) !== OLDEST_NODE.major) return Number(major) > OLDEST_NODE.major;
  return Number(minor) >= OLDEST_NODE.minor;
}
