import { once } from 'node:events';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CliResult, type RunningCli, runCli, startCli } from './run-cli.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Parts of a study file that a test gives; the rest is short and quick. */
export interface StudyParts {
  readonly study?: string;
  /** Flags that production has beside those of the reference unit. */
  readonly unitFlags?: string;
  /** Seconds of the server in one second; 50 if absent. */
  readonly speed?: number;
  /** Words behind `nightsweep simulate`, e.g. `--sim-oom-above 3`. */
  readonly switches?: readonly string[];
  /** Words before `nightsweep`, e.g. a wrapper; the simulator's own command follows. */
  readonly wrapper?: readonly string[];
  readonly profile?: Readonly<Record<number, number>>;
  readonly parameters: Readonly<Record<string, readonly unknown[]>>;
  readonly constraints?: readonly unknown[];
  readonly workload?: Readonly<Record<string, unknown>>;
  readonly measure?: Readonly<Record<string, unknown>>;
  readonly start?: Readonly<Record<string, unknown>>;
  readonly objective?: Readonly<Record<string, unknown>>;
  readonly budget?: Readonly<Record<string, unknown>>;
  readonly target?: Readonly<Record<string, unknown>>;
}

/** A folder with a study file, its unit and its database, and the program run on them. */
export interface SimulatedStudy extends AsyncDisposable {
  readonly folder: string;
  readonly name: string;
  readonly port: number;
  readonly file: string;
  readonly unit: string;
  readonly database: string;
  /** Writes the study file anew, on the same port and unit. */
  write(parts: StudyParts): Promise<void>;
  /** `nightsweep COMMAND ... --db DATABASE`, with `--study NAME` or the study file as it needs. */
  run(command: string, ...more: readonly string[]): Promise<CliResult>;
  start(command: string, ...more: readonly string[]): RunningCli;
  /** The same, standard output parsed as JSON. */
  json<T>(command: string, ...more: readonly string[]): Promise<T>;
}

/** A start takes next to no time, and no two launches differ by chance. */
const QUICK_SWITCHES = ['--sim-start-seconds', '2', '--sim-launch-noise', '0', '--sim-seed', '7'];

const REFERENCE_UNIT = fileURLToPath(
  new URL('../fixtures/units/sglang-qwen.service', import.meta.url),
);

const TAKES_THE_FILE = new Set(['sweep', 'plan']);

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** A study of the reference unit on the simulated server, on a port of its own. */
export async function simulatedStudy(parts: StudyParts): Promise<SimulatedStudy> {
  const folder = await temporaryFolder();
  const port = await freePort();
  const at = (name: string) => join(folder.path, name);
  const [file, unit, database] = [at('study.yaml'), at('sglang.service'), at('night.sqlite')];
  const name = parts.study ?? 'night';
  await copyFile(REFERENCE_UNIT, unit);
  const text = await readFile(unit, 'utf8');
  const flags = `--port ${port}${parts.unitFlags === undefined ? '' : ` ${parts.unitFlags}`}`;
  await writeFile(unit, text.replace('--port 30000', flags));

  const words = (command: string, more: readonly string[]) => [
    command,
    ...(TAKES_THE_FILE.has(command) ? [file] : ['--study', name]),
    '--db',
    database,
    ...more,
  ];
  const run = (command: string, ...more: readonly string[]) =>
    runCli(words(command, more), { cwd: folder.path });
  const study: SimulatedStudy = {
    folder: folder.path,
    name,
    port,
    file,
    unit,
    database,
    write: (changed) => writeFile(file, studyText(changed, name, port)),
    run,
    start: (command, ...more) => startCli(words(command, more), { cwd: folder.path }),
    json: async <T>(command: string, ...more: readonly string[]) => {
      const { stdout, stderr, exitCode } = await run(command, ...more);
      if (exitCode !== 0) throw new Error(`${command}: exit code ${String(exitCode)}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
  await study.write(parts);
  return study;
}

/** JSON is YAML. */
function studyText(parts: StudyParts, study: string, port: number): string {
  const {
    speed = 50,
    switches = [],
    wrapper = [],
    target = {},
    workload = {},
    measure = {},
  } = parts;
  const { parameters, constraints, profile, start, objective, budget } = parts;
  const simulator = ['$nightsweep', 'simulate', '--speed', `${speed}`, ...QUICK_SWITCHES];
  return JSON.stringify({
    profile: profile ?? { 1: 0.5, 4: 0.5 },
    // JSON leaves out what is undefined.
    ...{ parameters, constraints, start, objective, budget },
    study,
    target: {
      unit_file: 'sglang.service',
      program: [...wrapper, ...simulator, ...switches],
      base_url: `http://127.0.0.1:${port}`,
      ...target,
    },
    workload: { prompts: 'code', input_tokens: 100, output_tokens: 20, requests: 12, ...workload },
    measure: { finalists: 0, launches: 1, warm_up: { requests: 1 }, ...measure },
  });
}
