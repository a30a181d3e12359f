/**
 * Who answers on a port: this launch, somebody else, or nobody yet; `unknown` when the listener
 * cannot be seen, as for a container that runs under another user.
 */
export type PortOwner = 'ours' | 'foreign' | 'nobody' | 'unknown';

/** How a server process ended. */
export interface ServerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** False: it ended by itself, which is a crash whatever the status says (field report A9). */
  readonly requested: boolean;
}

/** What a stop proved. `clean` false means something survived; `survivors` names it. */
export interface StopProof {
  readonly clean: boolean;
  readonly seconds: number;
  readonly survivors: readonly string[];
}

/** One launch: what to start and where its log goes. */
export interface LaunchRequest {
  readonly argv: readonly string[];
  /** Complete environment of the server, secrets included; never logged. */
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  readonly baseUrl: string;
  readonly logPath: string;
}

/** A started server. Disposing stops it; stopping twice is harmless. */
export interface RunningServer extends AsyncDisposable {
  readonly pid: number;
  /** Monotonic ms of the start. */
  readonly startedAtMs: number;
  /** Undefined while it runs. */
  exit(): ServerExit | undefined;
  readonly exited: Promise<ServerExit>;
  /** Last lines of the log, secrets redacted, oldest first. */
  logTail(lines: number): string[];
  /** Grows whenever the server prints: start-up progress. */
  logBytes(): number;
  /** Who listens on the server's port; absent where the target cannot tell. */
  portOwner?(): PortOwner;
  /**
   * Changes when another process serves than before: something restarted the server behind our
   * back (field report A19). Absent where the target cannot tell, undefined while nobody listens.
   */
  servingIdentity?(): string | undefined;
  /** Command line of the process that serves; absent or undefined where it cannot be read. */
  commandLine?(): readonly string[] | undefined;
  /** A variable of that process's environment; null: it has none, undefined: it cannot be read. */
  variable?(name: string): string | null | undefined;
  /** SIGTERM to the main process, SIGKILL to the group, then proof that nothing is left. */
  stop(): Promise<StopProof>;
}

/**
 * Where the server lives. `start` resolves once the process exists (not when it is ready) and
 * throws UserError when it cannot be started at all. One server at a time.
 */
export interface Target {
  start(request: LaunchRequest): Promise<RunningServer>;
  /** Ends whatever an interrupted sweep of this target left behind; returns what it ended. */
  cleanUp(): Promise<readonly string[]>;
}
