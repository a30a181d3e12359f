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
