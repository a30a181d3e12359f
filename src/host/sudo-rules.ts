/** An entry of `sudo -ll`: which commands, and whether it asks for a password. */
export interface SudoRule {
  readonly asksPassword: boolean;
  /** As in sudoers: a path, with arguments, with wildcards, or `ALL`. */
  readonly commands: readonly string[];
}

/** Reads the long listing of `sudo -ll`. An entry without `!authenticate` asks for a password. */
export function parseSudoRules(listing: string): SudoRule[] {
  return listing
    .split(/^Sudoers entry:.*$/m)
    .slice(1)
    .map((entry) => ({
      asksPassword: !/^\s+Options:.*!authenticate\b/m.test(entry),
      commands: (entry.split(/^\s+Commands:\s*$/m)[1] ?? '')
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean),
    }));
}

/**
 * Whether the rule in force for a command asks for a password: the last one that matches, as in
 * sudoers. `command` is the full path with its arguments, as `sudo -l -- COMMAND` prints it.
 */
export function needsPassword(rules: readonly SudoRule[], command: string): boolean {
  const matching = rules.filter(({ commands }) =>
    commands.some((pattern) => matchesCommand(pattern, command)),
  );
  return matching.at(-1)?.asksPassword ?? false;
}

function matchesCommand(pattern: string, command: string): boolean {
  if (pattern === 'ALL') return true;
  // A path alone allows any arguments.
  if (!pattern.includes(' ')) return matchesGlob(pattern, command.split(' ')[0] ?? '');
  return matchesGlob(pattern, command);
}

function matchesGlob(pattern: string, text: string): boolean {
  const source = pattern
    .replaceAll(/\\(.)/g, '$1')
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}
