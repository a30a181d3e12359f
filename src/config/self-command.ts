import { fileURLToPath } from 'node:url';

/** In `target.program` and `target.command`: this program itself, whatever the place it lies in. */
export const SELF_PLACEHOLDER = '$nightsweep';

/**
 * argv that starts nightsweep itself: this Node.js and the built command. Also when running from
 * source, since Node.js 20 cannot run TypeScript.
 */
export function selfCommand(): readonly string[] {
  const here = import.meta.url;
  const main = here.endsWith('.ts') ? '../../dist/cli/main.js' : '../cli/main.js';
  return [process.execPath, fileURLToPath(new URL(main, here))];
}
