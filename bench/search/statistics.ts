/**
 * Error rates of the ranking by simulation: false wins, power, gain and its interval, drift.
 *
 *   npx tsx bench/search/statistics.ts [studies]
 */
import { normalSource, type SimulatedStudy, simulateStudy } from './simulated-study.ts';

const STUDIES = Number(process.argv[2] ?? 2000);
const DEFAULTS = { finalists: 3, rounds: 12, baselineEvery: 6 } as const;

const share = (count: number, of: number) => `${((100 * count) / of).toFixed(2)} %`;

function falseWins(name: string, study: SimulatedStudy, seed: number): void {
  let wins = 0;
  let launches = 0;
  for (let i = 0; i < STUDIES; i += 1) {
    const outcome = simulateStudy(study, seed + i);
    launches += outcome.launches;
    if (outcome.decision.kind === 'winner') wins += 1;
  }
  console.log(
    `${name}: false winner ${share(wins, STUDIES)}, ${(launches / STUDIES).toFixed(1)} launches`,
  );
}

function power(gain: number, noise: number, seed: number): void {
  let wins = 0;
  let rounds = 0;
  for (let i = 0; i < STUDIES; i += 1) {
    const logGains = [Math.log1p(gain), 0];
    const outcome = simulateStudy({ ...DEFAULTS, logGains, noise }, seed + i);
    rounds += outcome.confirmingRounds;
    if (outcome.decision.kind === 'winner' && outcome.decision.winner.trial === 1) wins += 1;
  }
  console.log(
    `power: +${(gain * 100).toFixed(0)} % at ${(noise * 100).toFixed(1)} % noise recommended in ${share(wins, STUDIES)}, ${(rounds / STUDIES).toFixed(1)} rounds`,
  );
}

/** Gain of the winner against its truth, candidates drawn as `spread` says. */
function estimate(
  name: string,
  noise: number,
  spread: () => number,
  many: number,
  seed: number,
): void {
  let winners = 0;
  let error = 0;
  let covered = 0;
  for (let i = 0; i < STUDIES; i += 1) {
    const logGains = Array.from({ length: many }, spread);
    const { decision } = simulateStudy({ ...DEFAULTS, logGains, noise }, seed + i);
    if (decision.kind !== 'winner') continue;
    const truth = Math.exp(logGains[decision.winner.trial - 1] ?? 0);
    const [low = 0, high = 0] = decision.winner.scoreInterval ?? [];
    winners += 1;
    error += (decision.winner.score ?? 0) - truth;
    if (low <= truth && truth <= high) covered += 1;
  }
  console.log(
    `${name}: ${winners} winners, reported minus true gain ${((100 * error) / winners).toFixed(3)} points, interval covers ${share(covered, winners)}`,
  );
}

for (const noise of [0.02, 0.04, 0.06]) {
  falseWins(`A/A, 1 candidate, ${noise * 100} %`, { ...DEFAULTS, logGains: [0], noise }, 1e6);
  falseWins(
    `A/A, 10 candidates, ${noise * 100} %`,
    { ...DEFAULTS, logGains: new Array<number>(10).fill(0), noise },
    2e6,
  );
}
const drift = (launch: number) => Math.log(1 - 0.1 * Math.min(1, launch / 70));
const jump = (launch: number) => (launch < 20 ? 0 : Math.log(0.9));
for (const [name, change] of [
  ['drift of -10 %', drift],
  ['jump of -10 %', jump],
] as const) {
  falseWins(
    `${name}, 30 equal candidates`,
    { ...DEFAULTS, logGains: new Array<number>(30).fill(0), noise: 0.015, drift: change },
    3e6,
  );
  const found = { early: 0, late: 0 };
  for (let i = 0; i < STUDIES; i += 1) {
    for (const [when, at] of [
      ['early', 0],
      ['late', 29],
    ] as const) {
      const logGains = Array.from({ length: 30 }, (_, k) => (k === at ? Math.log1p(0.05) : 0));
      const { decision } = simulateStudy(
        { ...DEFAULTS, logGains, noise: 0.015, drift: change },
        4e6 + i,
      );
      if (decision.kind === 'winner' && decision.winner.trial === at + 1) found[when] += 1;
    }
  }
  console.log(
    `${name}: +5 % launched first is found in ${share(found.early, STUDIES)}, launched last in ${share(found.late, STUDIES)}`,
  );
}
power(0.03, 0.015, 5e6);
power(0.02, 0.015, 6e6);
const normal = normalSource(7);
for (const noise of [0.015, 0.03]) {
  const label = `${noise * 100} % noise`;
  estimate(`one candidate at +3 %, ${label}`, noise, () => Math.log1p(0.03), 1, 7e6);
  estimate(`20 candidates, sd 3 %, ${label}`, noise, () => 0.03 * normal(), 20, 8e6);
  estimate(`20 candidates, sd 6 %, ${label}`, noise, () => 0.06 * normal(), 20, 9e6);
}
