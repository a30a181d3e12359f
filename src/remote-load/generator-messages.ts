import type { LoadProgress } from '../load/load-run.ts';
import type { MeasuredPoint, PointOptions } from '../load/point-options.ts';

/** What the load generator on the server is asked to do; a file that its owner alone can read. */
export interface GeneratorJob {
  readonly options: PointOptions;
}

/** A line of its standard output, as JSON. */
export type GeneratorLine =
  | { readonly phase: 'warm-up' | 'measure' }
  | { readonly progress: LoadProgress };

/** Its result file. A measurement that failed is a result like any other. */
export type GeneratorResult =
  | { readonly state: 'measured'; readonly point: MeasuredPoint }
  | {
      readonly state: 'failed';
      readonly message: string;
      /** The server did not answer as it should; else it is a fault of nightsweep. */
      readonly isNetworkFailure: boolean;
    };
