import { homedir } from 'node:os';
import { UserError } from '../errors.ts';
import { localHost } from './local-host.ts';

/** One machine of an ssh connection as the user's ssh configuration describes it. */
export interface SshHop {
  /** The name the user wrote: an alias or a host name, without user and port. */
  readonly alias: string;
  readonly hostName: string;
  readonly port: number;
  readonly user: string;
  /** Name under which host keys are looked up instead of the host name. */
  readonly hostKeyAlias: string | undefined;
  readonly identityFiles: readonly string[];
  /** Only keys of `identityFiles` may be offered, from the agent too. */
  readonly identitiesOnly: boolean;
  /** Socket of the agent; undefined when there is none. */
  readonly agentSocket: string | undefined;
  readonly knownHostsFiles: readonly string[];
  readonly connectTimeoutSeconds: number;
  /** A command whose input and output are the connection, with its tokens already replaced. */
  readonly proxyCommand: string | undefined;
}

export interface SshConfigOptions {
  /** Passed to `ssh -F`; the user's own and the system's configuration when absent. */
  readonly configPath?: string | undefined;
}

const RESOLVE_LIMIT_MS = 15_000;
const DEFAULT_CONNECT_SECONDS = 20;
const MAX_HOPS = 8;

/**
 * The machines to pass to reach `name` (`alias`, `user@host` or `ssh://user@host:port`), the last
 * one being the target.
 *
 * Read through `ssh -G`, so that Include, Match, patterns and tokens mean what they mean to ssh.
 * As in ssh, the first jump host may have jump hosts of its own, later ones are reached through
 * the ones before them.
 */
export async function resolveSshHops(
  name: string,
  options: SshConfigOptions = {},
): Promise<SshHop[]> {
  return resolveChain(name, options, MAX_HOPS);
}

async function resolveChain(
  name: string,
  options: SshConfigOptions,
  hopsLeft: number,
): Promise<SshHop[]> {
  if (hopsLeft === 0) {
    throw new UserError(`ssh configuration: the jump hosts of ${name} never end`, {
      hint: 'A ProxyJump that names itself is usual behind a "Host *": exclude the jump host there.',
    });
  }
  const settings = await askSsh(name, options);
  const hop = hopOf(name, settings);
  const jumps = settings.get('proxyjump')?.[0];
  if (jumps === undefined || jumps.toLowerCase() === 'none') return [hop];
  const [first, ...later] = jumps.split(',');
  if (first === undefined) return [hop];
  const before = await resolveChain(first, options, hopsLeft - 1);
  for (const jump of later) before.push(hopOf(jump, await askSsh(jump, options)));
  // ssh ignores ProxyCommand where ProxyJump is in force.
  return [...before, { ...hop, proxyCommand: undefined }];
}

/** Runs `ssh -G`, which prints the settings for a name without connecting. */
async function askSsh(name: string, { configPath }: SshConfigOptions): Promise<SshSettings> {
  const { destination, extra } = splitDestination(name);
  const result = await localHost.run({
    argv: [
      'ssh',
      '-G',
      ...(configPath === undefined ? [] : ['-F', configPath]),
      ...extra,
      '--',
      destination,
    ],
    timeoutMs: RESOLVE_LIMIT_MS,
  });
  if (result.exitCode === 127) {
    throw new UserError('the ssh program is not installed on this machine', {
      hint: 'nightsweep reads your ssh configuration through "ssh -G": install the OpenSSH client.',
    });
  }
  if (result.exitCode !== 0) {
    throw new UserError(`ssh configuration for ${name} cannot be read: ${result.stderr.trim()}`);
  }
  return parseSettings(result.stdout);
}

/** Lower-case option to its values, in the order given. */
export type SshSettings = ReadonlyMap<string, readonly string[]>;

/** Reads the output of `ssh -G`: one `option value` a line, an option may come repeatedly. */
export function parseSettings(text: string): SshSettings {
  const settings = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const blank = line.indexOf(' ');
    if (blank <= 0) continue;
    const option = line.slice(0, blank).toLowerCase();
    const values = settings.get(option) ?? [];
    values.push(line.slice(blank + 1).trim());
    settings.set(option, values);
  }
  return settings;
}

/** `ssh -G` takes no port inside the name except as a URL, and ProxyJump writes `user@host:port`. */
function splitDestination(name: string): { destination: string; extra: string[] } {
  // A name that begins with a dash or holds shell characters is never a host, but may be an attack.
  if (
    name === '' ||
    name.startsWith('-') ||
    /[\s'"`$\\;&|<>(){}*?!\u0000-\u001f\u007f]/.test(name)
  ) {
    throw new UserError(`${JSON.stringify(name)} is not a name that ssh can connect to`);
  }
  const bare = name.replace(/^ssh:\/\//, '').replace(/\/$/, '');
  const match = /^(?<rest>(?:[^@]*@)?(?:\[[^\]]+\]|[^:]+)):(?<port>\d+)$/.exec(bare);
  const port = match?.groups?.['port'];
  const rest = (match?.groups?.['rest'] ?? bare).replace(/\[([^\]]+)\]$/, '$1');
  return { destination: rest, extra: port === undefined ? [] : ['-p', port] };
}

function hopOf(name: string, settings: SshSettings): SshHop {
  const one = (option: string) => settings.get(option)?.[0];
  const alias = splitDestination(name).destination.replace(/^.*@/, '');
  const hostName = one('hostname') ?? alias;
  const port = Number(one('port') ?? 22);
  const user = one('user') ?? '';
  const tokens = { h: hostName, n: alias, p: String(port), r: user, '%': '%' };
  const timeout = Number(one('connecttimeout'));
  const proxyCommand = one('proxycommand');
  return {
    alias,
    hostName,
    port,
    user,
    hostKeyAlias: one('hostkeyalias'),
    identityFiles: (settings.get('identityfile') ?? []).map((path) =>
      expandPath(path, { ...tokens, d: homedir() }),
    ),
    identitiesOnly: one('identitiesonly') === 'yes',
    agentSocket: agentSocketOf(one('identityagent')),
    knownHostsFiles: ['userknownhostsfile', 'globalknownhostsfile']
      .flatMap((option) => settings.get(option) ?? [])
      .flatMap((paths) => paths.split(/\s+/))
      .filter((path) => path !== '' && path !== 'none')
      .map((path) =>
        expandPath(path, { ...tokens, d: homedir(), k: one('hostkeyalias') ?? alias }),
      ),
    connectTimeoutSeconds: timeout > 0 ? timeout : DEFAULT_CONNECT_SECONDS,
    proxyCommand:
      proxyCommand === undefined || proxyCommand === 'none'
        ? undefined
        : replaceTokens(proxyCommand, tokens),
  };
}

/** `IdentityAgent`: a path, `none`, `SSH_AUTH_SOCK` or `$NAME`; by default SSH_AUTH_SOCK's socket. */
function agentSocketOf(setting: string | undefined): string | undefined {
  if (setting === 'none') return undefined;
  const fallback = process.env['SSH_AUTH_SOCK'];
  const path =
    setting === undefined || setting === 'SSH_AUTH_SOCK'
      ? fallback
      : setting.startsWith('$')
        ? process.env[setting.slice(1).replace(/^\{(.*)\}$/, '$1')]
        : expandPath(setting, {});
  return path === '' ? undefined : path;
}

function expandPath(path: string, tokens: Readonly<Record<string, string>>): string {
  return replaceTokens(path.replace(/^~(?=\/|$)/, homedir()), tokens);
}

function replaceTokens(text: string, tokens: Readonly<Record<string, string>>): string {
  return text.replace(/%(.)/g, (all, token: string) => tokens[token] ?? all);
}
