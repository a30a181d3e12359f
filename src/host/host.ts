/** One command to run to its end. No shell: `argv[0]` is the program, the rest its arguments. */
export interface CommandRequest {
  readonly argv: readonly string[];
  /** The command and its children are killed after this long. */
  readonly timeoutMs: number;
  /** Given on standard input; empty when absent. */
  readonly input?: string;
  /** Complete environment; absent means the host's own default environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Longest kept part of each output stream, from its start. Default 8 MiB. */
  readonly maxOutputBytes?: number;
  /**
   * Running it twice does no harm: when the link breaks in the middle it is run again. Without it
   * a broken link is an error, as nobody knows whether the command had its effect.
   */
  readonly repeatable?: boolean;
}

/** How a command ended. A program that does not exist is exit code 127, as in a shell. */
export interface CommandResult {
  /** Null when a signal ended it (a time-out included). */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** True when an output stream was longer than what was kept. */
  readonly truncated: boolean;
}

/**
 * A machine on which commands run and files lie: this one, or one behind ssh.
 *
 * A command that fails is a result, not an error; `run` throws only when the machine itself
 * cannot be reached.
 */
export interface Host {
  /** As shown to users: "this machine", or the ssh name. */
  readonly name: string;
  run(request: CommandRequest): Promise<CommandResult>;
  /** Text of a file, or undefined when there is none. Throws UserError when it cannot be read. */
  readText(path: string): Promise<string | undefined>;
  /**
   * Replaces a file as a whole: a reader sees the old or the new text, never half of one.
   * Missing folders are made. Throws UserError when it cannot be written.
   */
  writeText(path: string, text: string, options?: { readonly mode?: number }): Promise<void>;
}
