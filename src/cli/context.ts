/** What a command needs of the process; the only way it prints and sets the exit code. */
export interface CliContext {
  readonly version: string;
  readonly stdout: (text: string) => void;
  readonly stderr: (line: string) => void;
  readonly isTerminal: boolean;
  /** Colours are wanted: a terminal, and NO_COLOR is not set. */
  readonly color: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * From now on SIGINT, SIGTERM and SIGHUP abort the returned signal with Interrupted instead of
   * ending the process; a second one ends it at once (the watchdog then stops the server).
   */
  takeSignals(): AbortSignal;
  setExitCode(code: number): void;
}
