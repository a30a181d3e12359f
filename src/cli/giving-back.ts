import type { CliContext } from './context.ts';
import type { HeldMachine } from './machine.ts';

/**
 * What `sweep` resolves to, once production is back; it comes back also when the sweep fails or is
 * interrupted.
 *
 * @param prove makes a real completion; throws when production does not serve.
 * @throws what the sweep failed with. An error of the way back goes first: production is worth
 *   more than a sweep, whose error is then printed.
 */
export async function givingBack<T>(
  sweep: Promise<T>,
  machine: HeldMachine,
  prove: () => Promise<void>,
  { stderr }: Pick<CliContext, 'stderr'>,
): Promise<T> {
  const [outcome] = await Promise.allSettled([sweep]);
  try {
    const steps = await machine.giveBack(prove);
    if (steps.length > 0) stderr(`production is back and serves: ${steps.join(', ')}`);
  } catch (error) {
    if (outcome.status === 'rejected') stderr(`the sweep ended: ${String(outcome.reason)}`);
    throw error;
  }
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}
