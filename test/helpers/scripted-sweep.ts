import type { Clock } from '../../src/clock.ts';
import { parseStudy } from '../../src/config/load-study.ts';
import type { BudgetConfig } from '../../src/config/study.ts';
import { rankTrials } from '../../src/ranking/rank-trials.ts';
import type { Assignment, FlagValue } from '../../src/search-space/assignment.ts';
import type { RunningServer, ServerExit, Target } from '../../src/server/target.ts';
import { parseHelp } from '../../src/sglang/help.ts';
import { parseLaunchArgs } from '../../src/sglang/launch-args.ts';
import type { LaunchContext } from '../../src/sglang/launch-context.ts';
import { launchFlags } from '../../src/sglang/launch-flags.ts';
import { openStore } from '../../src/storage/open-store.ts';
import type { StudyStore } from '../../src/storage/study-store.ts';
import { createBudget } from '../../src/study/budget.ts';
import type { StudyEvent } from '../../src/study/events.ts';
import { identityOf, openStudy } from '../../src/study/identity.ts';
import { createJudge } from '../../src/study/judge.ts';
import { createLaunchBuilder } from '../../src/study/launch-builder.ts';
import { planSweep, type SweepPlan } from '../../src/study/plan.ts';
import { storePlan } from '../../src/study/prepare.ts';
import { type Production, productionAssignment } from '../../src/study/production.ts';
import { runStudy } from '../../src/study/run-study.ts';
import type { ServerFacts } from '../../src/study/services.ts';
import { metrics } from '../contract/study-store.contract.ts';
import { helpText } from './sglang-help.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A sweep whose server says what the test lets it say; time passes only where code waits. */
export interface SweepScript {
  readonly parameters: Readonly<Record<string, readonly unknown[]>>;
  readonly constraints?: readonly unknown[];
  /** Flags of production beside the model and the port. */
  readonly production?: readonly string[];
  readonly context?: LaunchContext;
  /** SGLang's version as its program says it before a start; null: it does not. */
  readonly version?: string | null;
  readonly profile?: Readonly<Record<number, number>>;
  /** Members of `/server_info` beside flags as asked. */
  readonly reports?: (flags: Readonly<Record<string, FlagValue>>) => Fields;
  /** Log of a launch. */
  readonly log?: (environment: Readonly<Record<string, string>>) => readonly string[];
  /** Why the launch fails; undefined: it becomes ready. */
  readonly fails?: (flags: Readonly<Record<string, FlagValue>>) => readonly string[] | undefined;
  /** In-flight requests under which the server dies; undefined: never. */
  readonly diesAt?: (flags: Readonly<Record<string, FlagValue>>) => number | undefined;
  /** Tokens per second. */
  readonly speed?: (
    flags: Readonly<Record<string, FlagValue>>,
    concurrency: number,
    launch: number,
  ) => number;
  readonly measure?: Fields;
  readonly budget?: BudgetConfig;
  /** Of an earlier sweep of the same study, to go on with. */
  readonly store?: StudyStore;
}

export interface ScriptedSweep {
  readonly store: StudyStore;
  readonly studyId: number;
  readonly plan: SweepPlan;
  /** Flags of each launch, in order. */
  readonly launches: readonly Readonly<Record<string, FlagValue>>[];
  readonly events: readonly StudyEvent[];
  /** `0 completed`, `2 skipped equivalent: same as trial 1`. */
  readonly trials: readonly string[];
  trialOf(assignment: Assignment): string | undefined;
  ranking(): ReturnType<typeof rankTrials>;
}

const HELP = helpText('0.5.23');
const PROFILE = { 1: 0.5, 16: 0.5 };

/** Runs the sweep to its end. */
export async function scriptedSweep(script: SweepScript): Promise<ScriptedSweep> {
  const { parameters, constraints = [], profile = PROFILE, version = '0.5.23' } = script;
  const argv = ['python3', '-m', 'sglang.launch_server', '--model-path', '/m'];
  const study = parseStudy(
    JSON.stringify({
      study: 'scripted',
      target: { command: argv, base_url: 'http://127.0.0.1:30000' },
      profile,
      workload: { prompts: 'code', input_tokens: 64, output_tokens: 64 },
      parameters,
      constraints,
      measure: { finalists: 0, launches: 1, ...script.measure },
    }),
    '/scripted.yaml',
  );
  const production: Production = {
    argv: [...argv, ...(script.production ?? [])],
    environment: {},
    workingDirectory: undefined,
    service: undefined,
    unitText: '',
    warnings: [],
    help: parseHelp(HELP),
    text: HELP,
    version,
  };
  const context = { ...(version === null ? {} : { version }), ...script.context };
  const judge = createJudge(production, context);
  const own = productionAssignment(production, study.parameters.keys());
  const plan = planSweep(study, own, judge, context);
  const store = script.store ?? openStore(':memory:');
  const stored = openStudy(store, identityOf(study, production), 0);
  const clock = virtualClock();
  const server = new ScriptedServer(script, production, clock);
  const events: StudyEvent[] = [];
  await runStudy(
    {
      study,
      stored,
      store,
      trials: storePlan(store, stored.id, plan),
      target: server.target,
      clock,
      start: study.start,
      probe: {
        complete: () =>
          server.answers() ? Promise.resolve() : Promise.reject(new Error('refused')),
        facts: () => Promise.resolve(server.facts()),
      },
      measurer: {
        measure: ({ concurrency }) => {
          const dies = server.diesUnder(concurrency);
          return Promise.resolve({
            metrics: metrics({
              concurrency,
              outputTokensPerSecond: server.speed(concurrency),
              steadyTokensPerSecond: server.speed(concurrency),
            }),
            records: [],
            usable: !dies,
            why: dies ? 'failures' : 'completed',
            conditions: {},
          });
        },
      },
      builder: createLaunchBuilder({ study, production, plan, judge }, '/logs', 0),
      budget: createBudget(script.budget ?? {}, clock),
      emit: (event) => events.push(event),
    },
    new AbortController().signal,
  );
  const trials = () => store.trials(stored.id);
  const shown = ({ number, state, cause, reason }: ReturnType<typeof trials>[number]) =>
    `${String(number)} ${state}${cause === null ? '' : ` ${cause}: ${String(reason)}`}`;
  return {
    store,
    studyId: stored.id,
    plan,
    launches: server.launches,
    events,
    trials: trials().map(shown),
    trialOf: (assignment) => {
      const wanted = Object.entries(assignment);
      const found = trials().find((one) =>
        wanted.every(([name, value]) => one.assignment[name] === value),
      );
      return found === undefined ? undefined : shown(found);
    },
    ranking: () =>
      rankTrials({
        trials: store.trialData(stored.id),
        profile: study.profile,
        scoreKind: 'relative',
      }),
  };
}

class ScriptedServer {
  readonly launches: Readonly<Record<string, FlagValue>>[] = [];
  readonly #script: SweepScript;
  readonly #production: Production;
  readonly #clock: Clock;
  #environment: Readonly<Record<string, string>> = {};

  constructor(script: SweepScript, production: Production, clock: Clock) {
    this.#script = script;
    this.#production = production;
    this.#clock = clock;
  }

  get #flags(): Readonly<Record<string, FlagValue>> {
    return this.launches.at(-1) ?? {};
  }

  readonly target: Target = {
    start: ({ argv, environment }) => {
      this.launches.push(launchFlags(parseLaunchArgs(argv, this.#production.help)));
      this.#environment = environment;
      return Promise.resolve(this.#running());
    },
    cleanUp: () => Promise.resolve([]),
  };

  answers(): boolean {
    return this.#script.fails?.(this.#flags) === undefined;
  }

  /** Ends the server if this many requests are too many. */
  diesUnder(concurrency: number): boolean {
    const limit = this.#script.diesAt?.(this.#flags);
    if (limit === undefined || concurrency < limit) return false;
    this.#end();
    return true;
  }

  #end: () => void = () => undefined;

  speed(concurrency: number): number {
    return this.#script.speed?.(this.#flags, concurrency, this.launches.length) ?? 100;
  }

  facts(): ServerFacts {
    const asked = Object.entries(this.#flags).map(([name, value]) => [
      name.replaceAll('-', '_'),
      value,
    ]);
    const info = {
      ...Object.fromEntries(asked),
      model_path: '/m',
      ...this.#script.reports?.(this.#flags),
    } as Fields;
    const version = info['version'];
    return {
      version: typeof version === 'string' ? version : null,
      model: 'm',
      timeScale: 1,
      simulated: false,
      runningLimit: null,
      serverInfo: info,
    };
  }

  #running(): RunningServer {
    const failure = this.#script.fails?.(this.#flags);
    const end: ServerExit = { code: 1, signal: null, requested: false };
    let exit = failure === undefined ? undefined : end;
    const log = [...(failure ?? this.#script.log?.(this.#environment) ?? [])];
    const exited = new Promise<ServerExit>((resolve) => {
      if (exit !== undefined) resolve(exit);
      this.#end = () => {
        log.push('torch.OutOfMemoryError: CUDA out of memory');
        exit = end;
        resolve(end);
      };
    });
    const stop = () => Promise.resolve({ clean: true, seconds: 0, survivors: [] });
    return {
      pid: 4242,
      startedAtMs: this.#clock.nowMs(),
      exit: () => exit,
      exited,
      logTail: () => [...log],
      logBytes: () => 0,
      stop,
      [Symbol.asyncDispose]: async () => {
        await stop();
      },
    };
  }
}

function virtualClock(): Clock {
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    wallMs: () => nowMs,
    sleep: (ms) => {
      nowMs += ms;
      return Promise.resolve();
    },
  };
}
