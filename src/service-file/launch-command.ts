import { quote } from 'shlex';

/**
 * Command line that starts the server from a shell: variables in front through `env`, every word
 * quoted. It holds what argv and variables hold, secrets included: redact before showing.
 */
export function launchCommand(
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): string {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const words = variables.length === 0 ? argv : ['env', ...variables, ...argv];
  return words.map((word) => quote(word)).join(' ');
}
