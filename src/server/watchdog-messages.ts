import type { LogCap } from './capped-log.ts';
import type { ProcessId } from './process-table.ts';

/**
 * First message of the tuner to its watchdog. It travels through the private channel between the
 * two, never over a command line or a file, because the environment holds secrets.
 */
export interface WatchdogOrder {
  readonly argv: readonly string[];
  /** Complete environment of the server, marker included. */
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute; the watchdog's own is the root folder, so that it keeps no file system busy. */
  readonly workingDirectory: string;
  /** Absolute. */
  readonly logPath: string;
  readonly logCap: LogCap;
  readonly markerValue: string;
}

/** `awake` comes first: the watchdog listens and waits for its order. */
export type WatchdogMessage = { readonly type: 'awake' } | WatchdogNews;

/** What the watchdog tells the tuner of the server. */
export type WatchdogNews =
  | { readonly type: 'started'; readonly main: ProcessId }
  | { readonly type: 'not-started'; readonly code: string; readonly message: string }
  /** `text` is the end of what was printed since the last message; `bytes` counts everything. */
  | { readonly type: 'log'; readonly bytes: number; readonly text: string }
  | {
      readonly type: 'ended';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
      readonly logProblem?: string;
    };
