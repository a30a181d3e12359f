import type { SimulatorIo } from './io.ts';

function stamp(now: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  return `${day} ${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}`;
}

/** SGLang's log on stderr, and uvicorn's access lines beside it. */
export class ServerLog {
  readonly #io: SimulatorIo;
  readonly #prefix: string;

  constructor(io: SimulatorIo, tensorParallel: number) {
    this.#io = io;
    this.#prefix = tensorParallel > 1 ? ' TP0' : '';
  }

  /** A line of the scheduler: `[time TP0] text`. */
  line(text: string): void {
    this.#io.stderr.write(`[${stamp(new Date())}${this.#prefix}] ${text}\n`);
  }

  /** A line of the main process: `[time] text`. */
  main(text: string): void {
    this.#io.stderr.write(`[${stamp(new Date())}] ${text}\n`);
  }

  /** Text without time, such as a traceback. */
  raw(text: string): void {
    this.#io.stderr.write(`${text}\n`);
  }

  access(client: string, method: string, path: string, status: number, reason: string): void {
    this.main(`INFO:     ${client} - "${method} ${path} HTTP/1.1" ${status} ${reason}`);
  }
}
