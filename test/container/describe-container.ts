import { describe } from 'vitest';
import { whyNoContainer } from './boot-container.ts';

/**
 * Tests that need a booted container: skipped with the reason in their title where none can boot,
 * unless `CI` is set, where they run and fail.
 */
export function describeContainer(title: string, body: () => void): void {
  const reason = whyNoContainer();
  const shown = reason === undefined ? title : `${title} (not run: ${reason})`;
  describe.skipIf(reason !== undefined)(shown, { timeout: 60_000 }, body);
}
