import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/clock.ts';
import { parseStudy } from '../../src/config/load-study.ts';
import type { Study } from '../../src/config/study.ts';
import { UserError } from '../../src/errors.ts';
import { rankTrials } from '../../src/ranking/rank-trials.ts';
import type { TrialData } from '../../src/ranking/trial-data.ts';
import { readService } from '../../src/service-file/read-service.ts';
import { parseHelp } from '../../src/sglang/help.ts';
import { helpText } from '../../src/simulator/help-text.ts';
import { createRandom, mix, type Random } from '../../src/simulator/random.ts';
import { openStore } from '../../src/storage/open-store.ts';
import type { StoredMeasurement, StoredTrial, StudyStore } from '../../src/storage/study-store.ts';
import { createBudget } from '../../src/study/budget.ts';
import type { StudyEvent } from '../../src/study/events.ts';
import { identityOf, openStudy } from '../../src/study/identity.ts';
import { createJudge } from '../../src/study/judge.ts';
import { createLaunchBuilder } from '../../src/study/launch-builder.ts';
import { createMeasurer, createProbe } from '../../src/study/measurer.ts';
import { planSweep } from '../../src/study/plan.ts';
import { storePlan } from '../../src/study/prepare.ts';
import { type Production, productionAssignment } from '../../src/study/production.ts';
import { runStudy, type SweepEnd } from '../../src/study/run-study.ts';
import type { ServerFacts, ServerProbe } from '../../src/study/services.ts';
import type { LaunchBuilder } from '../../src/study/trial-launcher.ts';
import { FAILURES, type Failure } from './failures.ts';
import { fastClock } from './fast-clock.ts';
import { foreignClient } from './foreign-client.ts';
import { inProcessTarget, LiveServers } from './in-process-target.ts';

/** Simulated seconds per second. */
const SPEED = 200;
const UNIT = fileURLToPath(
  new URL('../../test/fixtures/units/sglang-qwen.service', import.meta.url),
);
const SIMULATED_MODEL = ['--sim-launch-noise', '0.002', '--sim-start-seconds', '12'];

/** How one sweep went, for the checks. */
export interface ChaoticSweep {
  readonly seed: number;
  /** By trial number; the baseline has none. */
  readonly injected: ReadonlyMap<number, Failure>;
  readonly trials: readonly StoredTrial[];
  readonly measurements: readonly StoredMeasurement[];
  readonly trialData: readonly TrialData[];
  /** Trials that the ranking allows to win. */
  readonly eligible: readonly number[];
  readonly events: readonly StudyEvent[];
  /** `finished`, `broken-environment`, ... or the message of the error that ended it. */
  readonly end: string;
  readonly concurrencies: readonly number[];
  readonly problems: readonly string[];
  /** Simulated seconds. */
  readonly seconds: number;
  /** Those of launches that ended without a single measurement. */
  readonly lostSeconds: number;
  readonly stillRuns: boolean;
  readonly openLaunches: number;
}

export interface ChaosOptions {
  readonly seed: number;
  /** Share of trials that get a failure. */
  readonly failureFraction: number;
  readonly parameters?: Readonly<Record<string, readonly unknown[]>>;
  /** Told of what happens, for a sweep that hangs. */
  readonly trace?: (line: string) => void;
  /** Failures to draw from. */
  readonly failures?: readonly Failure[];
}

/** Runs one sweep, with the program's own code, in which random trials fail in random ways. */
export async function chaoticSweep(options: ChaosOptions): Promise<ChaoticSweep> {
  const folder = await mkdtemp(join(tmpdir(), 'nightsweep-chaos-'));
  try {
    using store = openStore(join(folder, 'chaos.sqlite'));
    return await sweepIn(folder, store, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function sweepIn(
  folder: string,
  store: StudyStore,
  { seed, failureFraction, parameters, failures = FAILURES, trace }: ChaosOptions,
): Promise<ChaoticSweep> {
  const random = createRandom(mix(seed, 0x51ed270b));
  const port = await freePort();
  const study = parseStudy(studyText(port, parameters), join(folder, 'study.yaml'));
  const production = await productionOn(port);
  const judge = createJudge(production, {});
  const own = productionAssignment(production, study.parameters.keys());
  const plan = planSweep(study, own, judge);
  const stored = openStudy(store, identityOf(study, production), 0);
  const trials = storePlan(store, stored.id, plan);
  const injected = draw(trials, failures, failureFraction, random);
  const clock = fastClock(SPEED);
  const access = { baseUrl: study.target.baseUrl };
  const live = new LiveServers();
  const events: StudyEvent[] = [];
  const foreign = foreignClient(access.baseUrl);
  const lost = new LostTime();
  let current: Failure | undefined;
  const emit = (event: StudyEvent) => {
    if (event.type !== 'load' && event.type !== 'stage') events.push(event);
    trace?.(`${current?.name ?? ''}: ${JSON.stringify(event).slice(0, 150)}`);
    if (event.type === 'launch-started' || event.type === 'trial-ended') lost.note(clock.nowMs());
    if (event.type === 'launch-started') lost.begin(clock.nowMs());
    if (event.type === 'measured') lost.measured();
    if (event.type === 'launch-started') current = injected.get(event.trial);
    if (event.type === 'ready' && current?.outside === 'foreign-requests') foreign.start();
    if (event.type === 'trial-ended') foreign.stop();
  };
  const startedAtMs = clock.nowMs();
  const byFacts = new WeakMap<ServerFacts, ServerFacts>();
  // One object per launch, as the program has it: what is asked once per launch is asked once.
  const scaled = (facts: ServerFacts): ServerFacts => {
    const found = byFacts.get(facts) ?? { ...facts, timeScale: SPEED };
    byFacts.set(facts, found);
    return found;
  };
  const measurer = createMeasurer(access, study, systemClock, { salt: 'chaos' });
  const ended = runStudy(
    {
      study,
      stored,
      trials,
      clock,
      emit,
      store: failingStore(store, () => current?.outside === 'full-disk'),
      target: inProcessTarget(clock, study.start.stopSeconds, live, () => current?.outside),
      start: study.start,
      probe: inSimulatedTime(createProbe(access, study.workload)),
      measurer: {
        measure: (request) =>
          // Speeds mean little at this pace of the clock, so no point is given up for its speed.
          measurer.measure({
            ...request,
            facts: scaled(request.facts),
            expectedTokensPerSecond: null,
          }),
      },
      builder: failingBuilder(
        createLaunchBuilder({ study, production, plan, judge }, join(folder, 'logs'), 0),
        injected,
        random,
      ),
      budget: createBudget(study.budget, clock),
      environmentProblem: () =>
        Promise.resolve(
          current?.outside === 'gpu-never-free' ? 'GPU memory was not given back' : undefined,
        ),
    },
    new AbortController().signal,
  );
  const end = await endOf(ended);
  foreign.stop();
  const trialData = store.trialData(stored.id);
  return {
    seed,
    injected,
    trials: store.trials(stored.id),
    measurements: store.measurements(stored.id),
    trialData,
    eligible: eligibleIn(study, trialData),
    events,
    end,
    concurrencies: [...study.profile.keys()],
    problems: store.integrityProblems(),
    seconds: (clock.nowMs() - startedAtMs) / 1000,
    lostSeconds: lost.ms / 1000,
    stillRuns: live.runs(access.baseUrl) || !(await isFree(port)),
    openLaunches: store.launches(stored.id).filter(({ state }) => state === 'running').length,
  };
}

/** None where nothing was measured, which no ranking takes: the end of the sweep tells why. */
function eligibleIn(study: Study, trials: readonly TrialData[]): readonly number[] {
  if (trials.every(({ cells }) => cells.size === 0)) return [];
  const { profile, objective } = study;
  const ranking = rankTrials({
    trials,
    profile,
    scoreKind: objective.score,
    limits: objective.limits,
  });
  return ranking.trials.flatMap(({ eligible, trial }) => (eligible ? [trial] : []));
}

/** Adds up the time of launches without a measurement. */
class LostTime {
  ms = 0;
  #startedAtMs: number | undefined;
  #measured = false;

  begin(nowMs: number): void {
    this.#startedAtMs = nowMs;
    this.#measured = false;
  }
  measured(): void {
    this.#measured = true;
  }
  note(nowMs: number): void {
    if (this.#startedAtMs !== undefined && !this.#measured) this.ms += nowMs - this.#startedAtMs;
    this.#startedAtMs = undefined;
  }
}

function studyText(
  port: number,
  parameters: ChaosOptions['parameters'] = {
    'speculative-num-steps': [1, 2],
    'max-running-requests': [null, 4],
  },
): string {
  return JSON.stringify({
    study: 'chaos',
    target: {
      command: ['python3', '-m', 'sglang.launch_server', '--port', String(port)],
      base_url: `http://127.0.0.1:${String(port)}`,
    },
    profile: { 2: 0.6, 6: 0.4 },
    workload: { prompts: 'code', input_tokens: 64, output_tokens: 150, requests: 12 },
    parameters,
    measure: {
      finalists: 0,
      launches: 1,
      warm_up: { requests: 1 },
      stall: '600s',
      request_timeout: '10m',
      point_timeout: '20m',
    },
    // No failure takes so long in all: a machine that is too busy for this pace must not be told as one.
    start: { stall: '200s', total: '7200s', stop: '30s' },
  });
}

async function productionOn(port: number): Promise<Production> {
  const text = await readFile(UNIT, 'utf8');
  const service = readService([{ path: UNIT, text }], { unitName: 'sglang.service' });
  const argv = service.argv.map((word, i) => {
    if (service.argv[i - 1] === '--port') return String(port);
    return service.argv[i - 1] === '--host' ? '127.0.0.1' : word;
  });
  const help = helpText();
  return {
    argv: [...argv, '--speed', String(SPEED), ...SIMULATED_MODEL],
    environment: {},
    workingDirectory: undefined,
    service: undefined,
    unitText: text,
    warnings: [],
    help: parseHelp(help),
    text: help,
    version: '0.5.23',
  };
}

function draw(
  trials: readonly StoredTrial[],
  failures: readonly Failure[],
  share: number,
  random: Random,
): ReadonlyMap<number, Failure> {
  const none = FAILURES[0];
  return new Map(
    trials
      .filter(({ isBaseline }) => !isBaseline)
      .flatMap(({ number }) => {
        const failure = failures[Math.floor(random.next() * failures.length)];
        const chosen = random.next() < share ? failure : none;
        return chosen === undefined ? [] : [[number, chosen] as const];
      }),
  );
}

/** Adds the switches of a trial's failure to its command. */
function failingBuilder(
  builder: LaunchBuilder,
  injected: ReadonlyMap<number, Failure>,
  random: Random,
): LaunchBuilder {
  const launches = new Map<number, number>();
  return {
    effective: (trial, facts, server) => builder.effective(trial, facts, server),
    build: (trial, launchNumber) => {
      const built = builder.build(trial, launchNumber);
      const before = launches.get(trial.number) ?? 0;
      launches.set(trial.number, before + 1);
      const failure = injected.get(trial.number);
      if (failure === undefined || (failure.once === true && before > 0)) return built;
      const more = failure.switches(Math.floor(random.next() * 100));
      return { ...built, request: { ...built.request, argv: [...built.request.argv, ...more] } };
    },
  };
}

/** A store whose disk is full while `isFull`: nothing can be written, everything read. */
function failingStore(store: StudyStore, isFull: () => boolean): StudyStore {
  return new Proxy(store, {
    get: (target, name): unknown => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]): unknown => {
        if (isFull() && /^(?:add|set|end|start|launchReady)/.test(String(name))) {
          throw new UserError('the disk is full');
        }
        return (member as (...given: readonly unknown[]) => unknown).apply(target, [...args]);
      };
    },
  });
}

/** The sweep around the server lives in simulated time already: nothing is multiplied again. */
function inSimulatedTime(probe: ServerProbe): ServerProbe {
  return { ...probe, facts: async (signal) => ({ ...(await probe.facts(signal)), timeScale: 1 }) };
}

async function endOf(ended: Promise<SweepEnd>): Promise<string> {
  try {
    return (await ended).state;
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    return true;
  } catch {
    return false;
  }
}
