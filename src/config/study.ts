import type { ArrivalProcess } from '../load/arrivals.ts';
import type { GuardStrictness } from '../load/output-guard.ts';
import type { SessionShape } from '../load/prompts/session-prompts.ts';
import type { IdRange } from '../load/prompts/token-prompts.ts';
import type { Slos } from '../metrics/goodput.ts';
import type { Limit } from '../ranking/limits.ts';
import type { Constraint } from '../search-space/constraints.ts';
import type { Parameters } from '../search-space/space.ts';
import type { Position, StudyWarning } from './problems.ts';

/** `server`: from the server itself; `here`: from this machine, through ssh; `auto`: the first that works. */
export type LoadFrom = 'auto' | 'server' | 'here';

export type ScoreKind = 'relative' | 'time' | 'tokens';

/** Where the server lives and how it is started. Exactly one of `unit` and `command`. */
export interface TargetConfig {
  /** ssh alias or user@host; absent for this machine. */
  readonly ssh?: string;
  /** systemd unit name (`sglang.service`). */
  readonly unit?: string;
  /** The unit is one of the user's own systemd (`systemctl --user`). */
  readonly user?: boolean;
  /** How long a unit's machine waits for a tuner that says nothing before it restores production. */
  readonly leaseSeconds?: number;
  /** Path of a unit file on disk: its command is run as a local process on this machine. */
  readonly unitFile?: string;
  /** Launch command as argv. */
  readonly command?: readonly string[];
  /** Words that replace the program of the unit's command (`python3 -m sglang.launch_server`), e.g. to run a simulated server with production's flags. */
  readonly program?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  readonly baseUrl: string;
  /** Name of the environment variable that holds the API key, so that no key stands in a file. */
  readonly apiKeyEnv?: string;
}

/** When requests are sent; a closed loop without think time where it is absent. */
export type ArrivalsConfig =
  | { readonly kind: 'closed'; readonly thinkTimeMs: number }
  | {
      readonly kind: 'open';
      /** Each of the C users of a point sends at this rate, whatever is still unanswered. */
      readonly requestsPerSecondPerUser: number;
      readonly process: ArrivalProcess;
      readonly burstiness?: number;
    };

export interface WorkloadConfig {
  /** A name of `promptSources` (`code`, `chat`, `agentic` ...) or a file path. */
  readonly prompts: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly ignoreEos: boolean;
  readonly api: 'native' | 'openai-completions' | 'openai-chat';
  /** Requests per point; default max(4, 2 x concurrency). */
  readonly requests?: number;
  readonly seed: number;
  /** Salt of the sweep whose prompts are sent again; absent for prompts that no server has seen. */
  readonly salt?: string;
  /** Token id of `fixed-token` prompts. */
  readonly tokenId: number;
  /** Ids of `random-ids` prompts. */
  readonly idRange?: IdRange;
  /** Share of each prompt that all prompts of a measurement have in common. */
  readonly sharedPrefixFraction?: number;
  /** Shape of the sessions of `agentic` prompts. */
  readonly session?: SessionShape;
  readonly arrivals?: ArrivalsConfig;
}

export interface MeasureConfig {
  /** Load runs per concurrency within one launch. */
  readonly repeats: number;
  /** Trials that get further launches after the first, interleaved with the baseline; default 3. */
  readonly finalists: number;
  /**
   * Launches of each finalist at most, the first included; the others confirm it beside as many of
   * the baseline. Default 13: 12 confirm.
   */
  readonly launches: number;
  /** Requests of a window, and how long it may take to settle. */
  readonly warmUp: { readonly requests?: number; readonly limitSeconds?: number };
  /** Where the load of a server behind ssh comes from; default `here`. */
  readonly loadFrom?: LoadFrom;
  readonly requestTimeoutSeconds: number;
  readonly pointTimeoutSeconds: number;
  readonly stallSeconds: number;
  /** A measurement with more failed requests than this share is ended. */
  readonly maxFailureFraction: number;
  /** A measurement slower than this share of the baseline is ended; 0 for never. */
  readonly giveUpBelowFraction: number;
  /** Whether a launch ends as soon as its trial cannot win any more (ranking/race.ts). */
  readonly dropLosers: boolean;
  /** How much the outputs of a trial may differ from the baseline's. */
  readonly outputCheck: GuardStrictness;
}

/** Start limits: `stall` without any new log line, `total` at most. */
export interface StartConfig {
  readonly stallSeconds: number;
  readonly totalSeconds: number;
  readonly stopSeconds: number;
  /** A stopped server that still holds GPU memory after this long ends the sweep. */
  readonly gpuReleaseSeconds: number;
}

export interface BaselineExpectation {
  readonly workload: WorkloadConfig;
  readonly throughput: 'whole-run' | 'steady';
  /** Concurrency to output tokens per second. */
  readonly values: ReadonlyMap<number, number>;
  readonly toleranceFraction: number;
}

export interface BudgetConfig {
  /** Local time of day, `HH:MM`. */
  readonly until?: string;
  readonly hours?: number;
  readonly launches?: number;
}

/** `end`: the sweep ended, whatever the result. `trouble`: it needs a person. */
export type NotifyEvent = 'end' | 'trouble';

export interface NotifyConfig {
  readonly on: readonly NotifyEvent[];
  readonly webhook?: string;
  /** Name of the environment variable that holds the address, where it is a secret. */
  readonly webhookEnv?: string;
  readonly command?: readonly string[];
  /** JSON with `$event`, `$study`, `$text`; all three as keys when absent. */
  readonly body?: string;
}

/** A study file, validated, defaults filled in. */
export interface Study {
  readonly name: string;
  /** File it was read from. */
  readonly path: string;
  readonly target: TargetConfig;
  /** Concurrency to share, ascending, shares sum to 1. */
  readonly profile: ReadonlyMap<number, number>;
  readonly objective: {
    readonly score: ScoreKind;
    readonly limits: readonly Limit[];
    /** What a request must keep to count as goodput; absent for none. */
    readonly slos?: Slos;
  };
  readonly workload: WorkloadConfig;
  readonly measure: MeasureConfig;
  readonly start: StartConfig;
  /** In file order; names normalised (no dashes in front, no underscores). */
  readonly parameters: Parameters;
  readonly constraints: readonly Constraint[];
  readonly baseline: { readonly expect?: BaselineExpectation };
  readonly budget: BudgetConfig;
  readonly notify?: NotifyConfig;
  /** Where each parameter stands in the file, by normalised name: for faults found later. */
  readonly parameterPositions: ReadonlyMap<string, Position>;
  readonly warnings: readonly StudyWarning[];
}
