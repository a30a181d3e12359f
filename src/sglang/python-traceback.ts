/** The exception that ended a Python process, as its traceback shows it. */
export interface PythonException {
  /** `ValueError`, `torch.OutOfMemoryError`. */
  readonly type: string;
  /** Text after the type; for a bare assertion the asserted source line and its place. */
  readonly message: string;
  /** `speculative_hook.py:1162 _handle_eagle_family`; absent if the trace has no frames. */
  readonly where?: string;
}

const traceStart = /Traceback \(most recent call last\):/;
const exceptionLine =
  /^(?<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Group)?)(?:: (?<message>.*))?$/;
const frameLine = /^\s+File "(?:.*\/)?(?<file>[^/"]+)", line (?<line>\d+), in (?<name>\S+)/;

function frameAt(lines: readonly string[], i: number): { where: string; source: string } | null {
  const frame = frameLine.exec(lines[i] ?? '')?.groups;
  if (frame === undefined) return null;
  const source = (lines[i + 1] ?? '').trim();
  return { where: `${frame['file'] ?? ''}:${frame['line'] ?? ''} ${frame['name'] ?? ''}`, source };
}

/** Reads the trace that starts at `start`; undefined if its last line was cut off. */
function exceptionAt(lines: readonly string[], start: number): PythonException | undefined {
  let frame: { where: string; source: string } | null = null;
  for (let i = start + 1; i < lines.length; i += 1) {
    const line = lines[i] ?? '';
    frame = frameAt(lines, i) ?? frame;
    if (/^\s/.test(line) || line === '') continue;
    const found = exceptionLine.exec(line)?.groups;
    const type = found?.['type'];
    if (type === undefined) return undefined;
    const text = found?.['message'] ?? '';
    const bare = frame === null ? '' : `${frame.where}: ${frame.source}`;
    return { type, message: text === '' ? bare : text, ...(frame && { where: frame.where }) };
  }
  return undefined;
}

/**
 * The last exception of each traceback in a log, in order of appearance.
 *
 * Chained exceptions ("During handling of …") are separate tracebacks; the last one is what ended
 * the process.
 */
export function pythonExceptions(logLines: readonly string[]): PythonException[] {
  return logLines.flatMap((line, i) => {
    const exception = traceStart.test(line) ? exceptionAt(logLines, i) : undefined;
    return exception === undefined ? [] : [exception];
  });
}
