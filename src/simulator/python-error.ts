/** An exception SGLang would raise: printed as a traceback, exit code 1 or death of the scheduler. */
export class PythonError extends Error {
  /**
   * @param type Python class, e.g. `ValueError`
   * @param place file, line, function and source line of the innermost frame
   */
  readonly type: string;
  readonly place: {
    readonly file: string;
    readonly line: number;
    readonly name: string;
    readonly source: string;
  };

  constructor(
    type: string,
    message: string,
    place: {
      readonly file: string;
      readonly line: number;
      readonly name: string;
      readonly source: string;
    },
  ) {
    super(message);
    this.type = type;
    this.place = place;
    this.name = 'PythonError';
  }

  /** `Type: message`, or the bare type when there is no message, as Python prints it. */
  lastLine(): string {
    return this.message === '' ? this.type : `${this.type}: ${this.message}`;
  }
}

const ROOT = '/opt/sglang/python/sglang';

/** A Python traceback that ends in `error`; `outer` are the frames above it. */
export function traceback(error: PythonError, outer: readonly string[]): string {
  const { file, line, name, source } = error.place;
  return [
    'Traceback (most recent call last):',
    ...outer.map((frame) => `  ${frame.replace('$ROOT', ROOT)}`),
    `  File "${ROOT}/${file}", line ${line}, in ${name}`,
    `    ${source}`,
    error.lastLine(),
  ].join('\n');
}

/** Frames above an error while the scheduler starts. */
export const SCHEDULER_FRAMES = [
  'File "$ROOT/srt/managers/scheduler.py", line 6362, in run_scheduler_process\n    scheduler = Scheduler(server_args, port_args)',
  'File "$ROOT/srt/managers/scheduler.py", line 568, in __init__\n    self.init_model_worker()',
];
/** Frames above an error while it runs a batch. */
export const FORWARD_FRAMES = [
  'File "$ROOT/srt/managers/scheduler.py", line 6398, in run_scheduler_process\n    scheduler.run_event_loop()',
  'File "$ROOT/srt/managers/scheduler.py", line 1820, in run_batch\n    self.model_worker.forward_batch_generation(batch)',
];
