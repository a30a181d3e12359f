import { EndOfSweepError } from '../errors.ts';

/**
 * The machine cannot run the load: no space, no permission, a copy that arrives damaged. A fault of
 * the environment, whatever the flags: the sweep ends and goes on when it is put right.
 */
export class LoadHostError extends EndOfSweepError {}
