import { UserError } from '../errors.ts';

export const STAGES = ['arguments', 'load', 'kv-cache', 'capture', 'warm-up'] as const;
/** Phases of a start, in order. */
export type Stage = (typeof STAGES)[number];

/**
 * Switches of the simulator itself, beside SGLang's flags. Moments and durations are in simulated
 * time unless a description says otherwise.
 */
export interface Switches {
  readonly speed: number;
  readonly seed: number | undefined;
  readonly launchNoiseFraction: number;
  readonly requestNoiseFraction: number;
  readonly startSeconds: number;
  readonly chanceFraction: number;
  readonly stallAt: Stage | undefined;
  readonly exitAt: Stage | undefined;
  readonly exitCode: number | 'SIGKILL';
  readonly oomAt: Stage | undefined;
  readonly portTakenAt: Stage | undefined;
  readonly diskFullAt: Stage | undefined;
  readonly oomAtRequest: number | undefined;
  readonly oomAbove: number | undefined;
  readonly exitAtRequest: number | undefined;
  readonly crashAtRequest: number | undefined;
  readonly hangAtRequest: number | undefined;
  readonly restartAtRequest: number | undefined;
  readonly freezeFraction: number;
  readonly truncateFraction: number;
  readonly errorFraction: number;
  readonly refuseFraction: number;
  readonly effectiveMaxRunning: number | undefined;
  readonly hideEffective: boolean;
  readonly leftover: boolean;
  readonly ignoreSigterm: boolean;
  readonly gpuFile: string | undefined;
  /** Wall seconds; Infinity for never. */
  readonly gpuReleaseSeconds: number;
  readonly driftFractionPerHour: number;
  readonly neighbourFraction: number;
}

type Raw = ReadonlyMap<string, string | true>;

interface SwitchHelp {
  readonly name: string;
  /** Placeholder of the value; empty for a switch without one. */
  readonly value: string;
  readonly text: string;
}

/** Every switch with its meaning, in the order of the help. */
export const SWITCH_HELP: readonly SwitchHelp[] = [
  { name: 'speed', value: 'N', text: 'simulated seconds per second (default 1)' },
  {
    name: 'sim-seed',
    value: 'N',
    text: 'seed of this launch; default: --random-seed, else new each launch',
  },
  {
    name: 'sim-launch-noise',
    value: 'F',
    text: 'speed differs between launches by this fraction (default 0.006)',
  },
  { name: 'sim-request-noise', value: 'F', text: 'noise of each scheduler step (default 0.01)' },
  { name: 'sim-start-seconds', value: 'S', text: 'duration of a start (default 40)' },
  {
    name: 'sim-chance',
    value: 'F',
    text: 'the failures below happen in this share of launches (default 1)',
  },
  { name: 'sim-stall-at', value: 'STAGE', text: `stop making progress at ${STAGES.join(', ')}` },
  {
    name: 'sim-exit-at',
    value: 'STAGE',
    text: 'exit at this stage of the start, with --sim-exit-code',
  },
  {
    name: 'sim-exit-code',
    value: 'CODE',
    text: 'code of simulated exits: 0 to 255 or SIGKILL (default 1)',
  },
  { name: 'sim-oom-at', value: 'STAGE', text: 'CUDA out of memory at this stage of the start' },
  {
    name: 'sim-port-taken-at',
    value: 'STAGE',
    text: 'an internal port is in use at this stage of the start',
  },
  {
    name: 'sim-disk-full-at',
    value: 'STAGE',
    text: 'no space is left on the disk at this stage of the start',
  },
  {
    name: 'sim-oom-at-request',
    value: 'N',
    text: 'CUDA out of memory when the Nth request is decoding',
  },
  { name: 'sim-oom-above', value: 'N', text: 'CUDA out of memory when more than N requests run' },
  {
    name: 'sim-exit-at-request',
    value: 'N',
    text: 'exit when the Nth request arrives, with --sim-exit-code',
  },
  {
    name: 'sim-crash-at-request',
    value: 'N',
    text: 'the scheduler process dies when the Nth request arrives',
  },
  {
    name: 'sim-hang-at-request',
    value: 'N',
    text: 'no stream makes progress from the Nth request on',
  },
  {
    name: 'sim-restart-at-request',
    value: 'N',
    text: 'restart behind the client when the Nth request arrives',
  },
  {
    name: 'sim-freeze',
    value: 'F',
    text: 'this share of streams stops in the middle, connection open',
  },
  {
    name: 'sim-truncate',
    value: 'F',
    text: 'this share of streams loses its connection in the middle',
  },
  { name: 'sim-error', value: 'F', text: 'this share of streams ends with an error event' },
  { name: 'sim-refuse', value: 'F', text: 'this share of requests is refused with 503' },
  {
    name: 'sim-effective-max-running',
    value: 'N',
    text: 'run at most N requests whatever was asked',
  },
  { name: 'sim-hide-effective', value: '', text: 'do not report the effective running limit' },
  { name: 'sim-leftover', value: '', text: 'leave a child behind that ignores SIGTERM' },
  { name: 'sim-ignore-sigterm', value: '', text: 'never end on SIGTERM' },
  {
    name: 'sim-gpu-file',
    value: 'FILE',
    text: 'write the use of GPU memory there, for a scripted nvidia-smi',
  },
  {
    name: 'sim-gpu-release',
    value: 'S',
    text: 'seconds of the wall clock from the end until GPU memory is given back, or never (default 0)',
  },
  { name: 'sim-drift', value: 'F', text: 'grow slower by this fraction per hour' },
  { name: 'sim-neighbour', value: 'F', text: 'slower by this fraction for 30 s of every 120 s' },
];

/** Splits the simulator's switches from SGLang's flags; both spellings `--x V` and `--x=V`. */
export function splitSwitches(argv: readonly string[]): { flags: string[]; raw: Raw } {
  const flags: string[] = [];
  const raw = new Map<string, string | true>();
  for (let i = 0; i < argv.length; i += 1) {
    const word = argv[i] ?? '';
    const [name = '', inline] = word.replace(/^--/, '').split(/=(.*)/s);
    const known = word.startsWith('--') && SWITCH_HELP.find((one) => one.name === name);
    if (known === undefined || known === false) {
      if (word.startsWith('--sim-')) {
        throw new UserError(`unknown simulator switch ${word}`, {
          hint: `known: ${SWITCH_HELP.map((one) => `--${one.name}`).join(' ')}`,
        });
      }
      flags.push(word);
    } else if (known.value === '') raw.set(name, true);
    else {
      const value = inline ?? argv[(i += 1)];
      if (value === undefined) throw new UserError(`--${name} needs a value (${known.value})`);
      raw.set(name, value);
    }
  }
  return { flags, raw };
}

function readNumber(raw: Raw, name: string, least: number, most = Infinity): number | undefined {
  const text = raw.get(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text === true || text === '' || !Number.isFinite(value) || value < least || value > most) {
    const range = most === Infinity ? `at least ${least}` : `from ${least} to ${most}`;
    throw new UserError(`--${name} ${String(text)} is not a number ${range}`);
  }
  return value;
}

function readText(raw: Raw, name: string): string | undefined {
  const text = raw.get(name);
  return text === true ? undefined : text;
}

function readStage(raw: Raw, name: string): Stage | undefined {
  const text = raw.get(name);
  if (text === undefined) return undefined;
  const stage = STAGES.find((one) => one === text);
  if (stage === undefined) {
    throw new UserError(`--${name} ${String(text)} is not a stage`, {
      hint: `stages: ${STAGES.join(', ')}`,
    });
  }
  return stage;
}

function readExitCode(raw: Raw): number | 'SIGKILL' {
  if (raw.get('sim-exit-code') === 'SIGKILL') return 'SIGKILL';
  return readNumber(raw, 'sim-exit-code', 0, 255) ?? 1;
}

/**
 * Reads the switches.
 *
 * @throws UserError naming the switch and its value
 */
export function readSwitches(raw: Raw): Switches {
  const share = (name: string): number => readNumber(raw, name, 0, 1) ?? 0;
  const count = (name: string): number | undefined => readNumber(raw, name, 1);
  return {
    speed: readNumber(raw, 'speed', 0.01, 1000) ?? 1,
    seed: readNumber(raw, 'sim-seed', 0),
    launchNoiseFraction: readNumber(raw, 'sim-launch-noise', 0, 1) ?? 0.006,
    requestNoiseFraction: readNumber(raw, 'sim-request-noise', 0, 1) ?? 0.01,
    startSeconds: readNumber(raw, 'sim-start-seconds', 0) ?? 40,
    chanceFraction: readNumber(raw, 'sim-chance', 0, 1) ?? 1,
    stallAt: readStage(raw, 'sim-stall-at'),
    exitAt: readStage(raw, 'sim-exit-at'),
    exitCode: readExitCode(raw),
    oomAt: readStage(raw, 'sim-oom-at'),
    portTakenAt: readStage(raw, 'sim-port-taken-at'),
    diskFullAt: readStage(raw, 'sim-disk-full-at'),
    oomAtRequest: count('sim-oom-at-request'),
    oomAbove: count('sim-oom-above'),
    exitAtRequest: count('sim-exit-at-request'),
    crashAtRequest: count('sim-crash-at-request'),
    hangAtRequest: count('sim-hang-at-request'),
    restartAtRequest: count('sim-restart-at-request'),
    freezeFraction: share('sim-freeze'),
    truncateFraction: share('sim-truncate'),
    errorFraction: share('sim-error'),
    refuseFraction: share('sim-refuse'),
    effectiveMaxRunning: count('sim-effective-max-running'),
    hideEffective: raw.has('sim-hide-effective'),
    leftover: raw.has('sim-leftover'),
    ignoreSigterm: raw.has('sim-ignore-sigterm'),
    gpuFile: readText(raw, 'sim-gpu-file'),
    gpuReleaseSeconds:
      raw.get('sim-gpu-release') === 'never'
        ? Infinity
        : (readNumber(raw, 'sim-gpu-release', 0) ?? 0),
    driftFractionPerHour: readNumber(raw, 'sim-drift', 0) ?? 0,
    neighbourFraction: readNumber(raw, 'sim-neighbour', 0) ?? 0,
  };
}

/** The switches with every failure taken out: for launches that `--sim-chance` spares. */
export function withoutFailures(switches: Switches): Switches {
  const { speed, seed, launchNoiseFraction, requestNoiseFraction, startSeconds } = switches;
  const kept = { speed, seed, launchNoiseFraction, requestNoiseFraction, startSeconds };
  const { driftFractionPerHour, neighbourFraction, hideEffective, effectiveMaxRunning } = switches;
  const { gpuFile } = switches;
  return {
    ...readSwitches(new Map()),
    ...kept,
    driftFractionPerHour,
    neighbourFraction,
    hideEffective,
    effectiveMaxRunning,
    gpuFile,
  };
}
