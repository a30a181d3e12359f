import type { ServiceWarning } from './service.ts';

/** A warning about a unit as a sentence, with its place. Values of variables are left out. */
export function serviceWarningText(warning: ServiceWarning): string {
  switch (warning.code) {
    case 'blank-after-backslash':
      return `${warning.path}:${warning.line}: a blank follows the backslash, so the command ends here: production runs without the flags on the lines below`;
    case 'ignored-line':
      return `${warning.path}:${warning.line}: systemd ignores this line`;
    case 'literal-variable':
      return `${warning.path}:${warning.line}: systemd expands no variables in Environment=: ${warning.name} holds the dollar sign as it stands`;
    case 'one-word-variable':
      return `\${${warning.name}} in braces is one word to the server, although it holds several; write $${warning.name} to split it at blanks`;
    case 'unset-variable':
      return `variable ${warning.name} of ExecStart is not set`;
    case 'unknown-escape':
      return `${warning.path}:${warning.line}: systemd does not know the escape "${warning.text}" and keeps it as it stands`;
    case 'invalid-environment':
      return `${warning.path}:${warning.line}: systemd ignores a setting of Environment= that is no NAME=value`;
  }
}
