import { parseCommandLine, withDefaults } from './command-line.ts';
import { helpText, usageText } from './help-text.ts';
import { type Capacity, sizeMemory } from './memory-model.ts';
import { type PerformanceSettings, performanceSettings } from './performance-model.ts';
import { PythonError, traceback } from './python-error.ts';
import { createRandom, mix } from './random.ts';
import { type Fields, resolveFields } from './resolution.ts';
import { readSwitches, type Switches, splitSwitches, withoutFailures } from './switches.ts';

export const SGLANG_VERSION = '0.5.23';

/** A launch whose arguments SGLang accepts; the scheduler may still fail on them. */
export interface Launch {
  readonly fields: Fields;
  readonly switches: Switches;
  readonly seed: number;
  /** Speed of this launch against the fit, 1 = as fitted. */
  readonly launchFactor: number;
  /** What SGLang logs while it resolves its arguments. */
  readonly warnings: readonly string[];
  readonly launchCommand: string;
  readonly memory:
    | {
        readonly state: 'fits';
        readonly capacity: Capacity;
        readonly settings: PerformanceSettings;
      }
    | { readonly state: 'fails'; readonly error: PythonError };
}

export type PreparedLaunch =
  | { readonly state: 'launch'; readonly launch: Launch }
  | {
      readonly state: 'exit';
      readonly code: number;
      readonly stdout: string;
      readonly log: readonly string[];
      readonly stderr: string;
    };

const LAUNCH_FRAMES = [
  'File "<frozen runpy>", line 198, in _run_module_as_main',
  'File "<frozen runpy>", line 88, in _run_code',
  'File "$ROOT/launch_server.py", line 84, in <module>\n    run_server(server_args)',
  'File "$ROOT/launch_server.py", line 29, in run_server\n    server_args.resolve_once()',
  'File "$ROOT/srt/server_args.py", line 277, in resolve_once\n    run_resolution_pipeline(self)',
];

/** Speed of a launch: normal around 1, cut at two standard deviations. */
function launchFactor(seed: number, noiseFraction: number): number {
  const normal = createRandom(mix(seed, 0x6c078965)).normal();
  return 1 + noiseFraction * Math.max(-2, Math.min(2, normal));
}

function sizeAndSettle(
  fields: Fields,
  environment: Readonly<Record<string, string>>,
  { effectiveMaxRunning = Infinity }: Switches,
): Launch['memory'] {
  try {
    const sized = sizeMemory(fields);
    const maxRunningRequests = Math.min(sized.maxRunningRequests, effectiveMaxRunning);
    const capacity = { ...sized, maxRunningRequests };
    return {
      state: 'fits',
      capacity,
      settings: performanceSettings(fields, environment, capacity),
    };
  } catch (error) {
    if (error instanceof PythonError) return { state: 'fails', error };
    throw error;
  }
}

/**
 * Reads a whole command line as the launch of a server, or as the exit SGLang would make of it:
 * help (0), a usage error (2), an argument error with a traceback (1).
 *
 * @param freshSeed used when neither `--sim-seed` nor `--random-seed` pins the launch
 * @throws UserError for a mistake in the simulator's own switches
 */
export function prepareLaunch(
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
  freshSeed: number,
): PreparedLaunch {
  const { flags, raw } = splitSwitches(argv);
  const asked = readSwitches(raw);
  const parsed = parseCommandLine(flags);
  const exit = { state: 'exit', stdout: '', stderr: '', log: [] } as const;
  if (parsed.state === 'help') return { ...exit, code: 0, stdout: helpText() };
  if (parsed.state === 'error') {
    return { ...exit, code: 2, stderr: `${usageText()}\nsglang serve: error: ${parsed.message}\n` };
  }
  const fields = withDefaults(parsed.values);
  const pinned = asked.seed ?? (fields['random_seed'] as number | null) ?? freshSeed;
  const seed = mix(pinned, 0x2545f491);
  const warnings = parsed.deprecated.map(
    ({ used, current }) =>
      `The command line argument '${used}' is deprecated. Use '${current}' instead.`,
  );
  if (environment['SGLANG_ENABLE_SPEC_V2'] !== undefined) {
    warnings.push(
      'SGLANG_ENABLE_SPEC_V2 has been removed: speculative decoding always runs the V2 worker. Use --disable-overlap-schedule to select the non-overlap (synchronous) path.',
    );
  }
  try {
    resolveFields(fields, seed % 2 ** 30, (line) => warnings.push(line));
  } catch (error) {
    if (!(error instanceof PythonError)) throw error;
    return { ...exit, code: 1, log: warnings, stderr: `${traceback(error, LAUNCH_FRAMES)}\n` };
  }
  const failing = createRandom(mix(seed, 0x9d2c5680)).next() < asked.chanceFraction;
  const switches = failing ? asked : withoutFailures(asked);
  const launch: Launch = {
    fields,
    switches,
    seed,
    launchFactor: launchFactor(seed, switches.launchNoiseFraction),
    warnings,
    launchCommand: flags.join(' '),
    memory: sizeAndSettle(fields, environment, switches),
  };
  return { state: 'launch', launch };
}
