/** The part of a launch command in front of SGLang's own flags. */
export interface LaunchProgram {
  /** Index of the first word after the program: where SGLang's flags begin. */
  readonly end: number;
  /** `NAME=VALUE` words of an `env` in front, by index; they override the unit's environment. */
  readonly environmentWords: readonly EnvironmentWord[];
}

export interface EnvironmentWord {
  readonly index: number;
  readonly name: string;
  readonly value: string;
}

/** Why no SGLang flags can be found in a command. */
export type UnknownProgram = 'container' | 'shell' | 'script' | 'other';

/**
 * Finds SGLang's launch in a command: `python3 -m sglang.launch_server`, `sglang serve`,
 * `.../launch_server.py`, or nightsweep's simulated server (`node dist/cli/main.js simulate`,
 * `nightsweep simulate`), also behind `env`, `taskset`, `numactl`, `nice` and their like.
 * Undefined when there is none, or when it runs inside a container.
 */
export function findLaunchProgram(argv: readonly string[]): LaunchProgram | undefined {
  if (unknownProgram(argv) === 'container') return undefined;
  const end = programEnd(argv);
  if (end === undefined) return undefined;
  return { end, environmentWords: environmentWords(argv.slice(0, end)) };
}

function programEnd(argv: readonly string[]): number | undefined {
  for (const [i, word] of argv.entries()) {
    // Behind the first flag of some other program nothing is a program any more.
    if (word === '--model-path' || word.startsWith('--model-path=')) return undefined;
    const next = argv[i + 1];
    if (word === '-m' && next !== undefined && isServerModule(next)) {
      return next === 'sglang.cli.main' && argv[i + 2] === 'serve' ? i + 3 : i + 2;
    }
    if (word.startsWith('-m') && isServerModule(word.slice(2))) return i + 1;
    if (baseName(word) === 'sglang' && next === 'serve') return i + 2;
    if (baseName(word) === 'launch_server.py') return i + 1;
    if (/^(main\.[jt]s|nightsweep(\.js)?)$/.test(baseName(word)) && next === 'simulate')
      return i + 2;
  }
  return undefined;
}

function isServerModule(name: string): boolean {
  return name === 'sglang.launch_server' || name === 'sglang.cli.main';
}

/** `env` may stand behind another prefix (`taskset -c 0-7 env A=1 python3 ...`). */
function environmentWords(program: readonly string[]): EnvironmentWord[] {
  const found: EnvironmentWord[] = [];
  let inEnv = false;
  for (const [index, word] of program.entries()) {
    const assignment = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(word);
    if (baseName(word) === 'env') inEnv = true;
    else if (inEnv && assignment?.[1] !== undefined) {
      found.push({ index, name: assignment[1], value: assignment[2] ?? '' });
    } else if (inEnv && !word.startsWith('-') && found.length > 0) inEnv = false;
  }
  return found;
}

/** What kind of command hides SGLang's flags, for the message that refuses it. */
export function unknownProgram(argv: readonly string[]): UnknownProgram {
  const names = argv.slice(0, 4).map(baseName);
  if (names.some((name) => /^(docker|podman|nerdctl|apptainer|singularity|kubectl)$/.test(name))) {
    return 'container';
  }
  const shellAt = names.findIndex((name) => /^(ba|da|z|k|fi)?sh$/.test(name));
  if (shellAt >= 0) {
    return argv.slice(shellAt + 1).some((word) => /^-[a-z]*c$/.test(word)) ? 'shell' : 'script';
  }
  return argv.some((word) => /\.(sh|bash|py)$/.test(word)) ? 'script' : 'other';
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
