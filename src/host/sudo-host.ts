import { dirname } from 'node:path';
import { UserError } from '../errors.ts';
import type { Host } from './host.ts';

const COMMAND_LIMIT_MS = 30_000;

/** The words in front of a command that runs as root without ever asking for a password. */
export const SUDO = ['sudo', '-n', '--'] as const;

/**
 * The same machine, with root's rights by `sudo -n`.
 *
 * Each command is exactly `sudo -n -- ARGV`, never a shell, so that sudoers can name it. Files that
 * everybody may read are read without sudo. Writing takes mkdir, tee, chmod and mv with fixed
 * arguments: the draft's name is always `PATH.nightsweep-draft`.
 */
export function withSudo(host: Host): Host {
  const run: Host['run'] = async (request) => {
    if (request.environment !== undefined) throw new Error('sudo drops the environment');
    return host.run({ ...request, argv: [...SUDO, ...request.argv] });
  };
  const must = async (what: string, argv: readonly string[], input?: string): Promise<void> => {
    const result = await run({
      argv,
      timeoutMs: COMMAND_LIMIT_MS,
      repeatable: true,
      ...(input === undefined ? {} : { input }),
    });
    if (result.exitCode === 0) return;
    const reason = result.stderr.trim().split('\n').at(-1) ?? '';
    throw new UserError(`${what} on ${host.name}: ${reason}`, {
      hint: `"${[...SUDO, ...argv].join(' ')}" must work there without a password.`,
    });
  };
  return {
    name: host.name,
    run,
    async readText(path) {
      try {
        return await host.readText(path);
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        const result = await run({
          argv: ['cat', '--', path],
          timeoutMs: COMMAND_LIMIT_MS,
          repeatable: true,
        });
        if (result.exitCode === 0) return result.stdout;
        if (/no such file/i.test(result.stderr)) return undefined;
        throw error;
      }
    },
    async writeText(path, text, { mode = 0o644 } = {}) {
      const [make, fill, permit, place] = writeCommands(path, mode);
      const what = `cannot write ${path}`;
      await must(what, make);
      await must(what, fill, text);
      await must(what, permit);
      await must(what, place);
    },
  };
}

/** The commands that `writeText` of a sudo host runs, so that rights can be proven beforehand. */
export function writeCommands(
  path: string,
  mode = 0o644,
): [string[], string[], string[], string[]] {
  const draft = `${path}.nightsweep-draft`;
  return [
    ['mkdir', '-p', '--', dirname(path)],
    ['tee', '--', draft],
    ['chmod', mode.toString(8).padStart(4, '0'), '--', draft],
    ['mv', '-fT', '--', draft, path],
  ];
}
