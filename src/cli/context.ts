/** What a command needs of the process; the only way it prints and sets the exit code. */
export interface CliContext {
  readonly stdout: (text: string) => void;
  readonly stderr: (line: string) => void;
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** argv that starts this program again: node and the main script, for `$nightsweep`. */
  readonly self: readonly string[];
  /**
   * From now on SIGINT, SIGTERM and SIGHUP abort the returned signal with Interrupted instead of
   * ending the process; a second one ends it at once (the watchdog then stops the server).
   */
  takeSignals(): AbortSignal;
  setExitCode(code: number): void;
}
