import type { LoadProgress } from '../load/load-run.ts';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import type { StartupProgress } from '../sglang/startup-stage.ts';

/** What a sweep tells whoever watches it. Facts only; sentences are made by the watcher. */
export type StudyEvent =
  | {
      readonly type: 'planned';
      /** What production has for the swept parameters. */
      readonly baseline: Assignment;
      readonly trials: number;
      readonly launches: number;
      /** Measurements that an earlier, interrupted run already finished. */
      readonly kept: number;
    }
  | { readonly type: 'cleaned-up'; readonly ended: readonly string[] }
  | {
      readonly type: 'launch-started';
      readonly trial: number;
      readonly assignment: Assignment;
      readonly isBaseline: boolean;
      readonly round: number;
      readonly launch: number;
      /** Launches of the plan as known now, this one included. */
      readonly launchesLeft: number;
    }
  | { readonly type: 'stage'; readonly trial: number; readonly progress: StartupProgress }
  | { readonly type: 'ready'; readonly trial: number; readonly seconds: number }
  | {
      readonly type: 'measuring';
      readonly trial: number;
      readonly concurrency: number;
      readonly repeat: number;
      readonly phase: 'warm-up' | 'measure';
    }
  | {
      readonly type: 'load';
      readonly trial: number;
      readonly concurrency: number;
      readonly progress: LoadProgress;
    }
  | {
      readonly type: 'measured';
      readonly trial: number;
      readonly isBaseline: boolean;
      readonly concurrency: number;
      readonly repeat: number;
      readonly metrics: PointMetrics;
      /** Against the baseline's mean at this concurrency; null for the baseline itself. */
      readonly changeFraction: number | null;
    }
  | {
      readonly type: 'trial-ended';
      readonly trial: number;
      readonly state: 'completed' | 'partial' | 'infeasible' | 'failed' | 'skipped';
      readonly cause: string | null;
      readonly reason: string | null;
    }
  | {
      readonly type: 'no-effect';
      readonly trial: number;
      readonly parameter: string;
      readonly asked: FlagValue;
      readonly effective: FlagValue;
    }
  | { readonly type: 'finalists'; readonly trials: readonly number[] }
  /** The baseline changed beyond noise; these trials, launched meanwhile, are launched again. */
  | {
      readonly type: 'jump';
      readonly changeFraction: number;
      readonly trials: readonly number[];
    }
  /** Confirming ended: gains are known closely, no finalist can win, or all rounds are done. */
  | {
      readonly type: 'confirmed';
      readonly rounds: number;
      readonly why: 'resolved' | 'hopeless' | 'rounds';
    }
  | { readonly type: 'notice'; readonly text: string };
