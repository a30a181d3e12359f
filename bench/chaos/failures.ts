/** A failure that is put into one trial of a chaotic sweep, and what the sweep must make of it. */
export interface Failure {
  readonly name: string;
  /** Switches of the simulated server. `n`: a random whole number from 0 to 99. */
  readonly switches: (n: number) => readonly string[];
  /** In the first launch of the trial only: by chance, not by its flags. */
  readonly once?: true;
  /** Something outside the server. */
  readonly outside?:
    | 'foreign-requests'
    | 'full-disk'
    | 'gpu-never-free'
    | 'never-stops'
    | 'start-refused'
    | 'stop-fails';
  /** State and cause that the trial must end with; any of them. */
  readonly expected: readonly string[];
  /** Words of a notice, for a trial that a further launch completed after it was noticed. */
  readonly told?: string;
}

const STAGES = ['arguments', 'load', 'kv-cache', 'capture', 'warm-up'];
const stage = (n: number): string => STAGES[n % STAGES.length] ?? 'load';
/** Behind the completions that prove readiness and check answers, before the last of the trial. */
const request = (n: number): string => String(12 + (n % 24));

const COMPLETED = 'completed null';

/** Everything that goes wrong in a chaotic sweep, by the switch that does it. */
export const FAILURES: readonly Failure[] = [
  { name: 'none', switches: () => [], expected: [COMPLETED] },
  {
    name: 'exits at start',
    switches: (n) => ['--sim-exit-at', stage(n), '--sim-exit-code', String(n % 3)],
    expected: ['infeasible died-at-start'],
  },
  {
    name: 'exits at one start',
    switches: (n) => ['--sim-exit-at', stage(n), '--sim-exit-code', '1'],
    once: true,
    expected: [COMPLETED],
  },
  {
    name: 'port taken at one start',
    switches: (n) => ['--sim-port-taken-at', stage(n)],
    once: true,
    expected: [COMPLETED],
  },
  {
    name: 'port taken at every start',
    switches: (n) => ['--sim-port-taken-at', stage(n)],
    expected: ['failed port-in-use'],
  },
  {
    name: 'out of memory at start',
    switches: (n) => ['--sim-oom-at', STAGES[1 + (n % 3)] ?? 'load'],
    expected: ['infeasible out-of-memory', 'infeasible graph-capture-out-of-memory'],
  },
  {
    name: 'stalls at start',
    switches: (n) => ['--sim-stall-at', STAGES[n % 4] ?? 'load'],
    expected: ['failed startup-hang'],
  },
  {
    name: 'slow start with progress',
    switches: () => ['--sim-start-seconds', '150'],
    expected: [COMPLETED],
  },
  {
    name: 'exits under load',
    switches: (n) => ['--sim-exit-at-request', request(n), '--sim-exit-code', String(n % 3)],
    expected: ['partial crashed'],
  },
  {
    name: 'scheduler dies under load',
    switches: (n) => ['--sim-crash-at-request', request(n)],
    expected: ['partial process-killed'],
  },
  {
    name: 'out of memory under load',
    switches: (n) => ['--sim-oom-at-request', request(n)],
    expected: ['partial pool-out-of-memory'],
  },
  {
    name: 'out of memory above a concurrency',
    switches: () => ['--sim-oom-above', '1'],
    expected: ['partial pool-out-of-memory'],
  },
  {
    name: 'hangs under load',
    switches: (n) => ['--sim-hang-at-request', request(n)],
    expected: ['partial stalled'],
  },
  {
    name: 'streams freeze',
    switches: () => ['--sim-freeze', '0.9'],
    expected: ['partial stalled', 'partial unreachable'],
  },
  {
    name: 'streams end early',
    switches: () => ['--sim-truncate', '0.9'],
    expected: ['partial failures'],
  },
  {
    name: 'error events',
    switches: () => ['--sim-error', '0.9'],
    expected: ['partial failures'],
  },
  {
    name: 'refuses requests',
    switches: () => ['--sim-refuse', '0.8'],
    expected: ['partial failures', 'partial unreachable'],
  },
  {
    name: 'restarts behind the sweep',
    switches: (n) => ['--sim-restart-at-request', request(n)],
    expected: ['partial restarted', 'completed after it was told'],
    told: 'it was restarted behind the sweep',
  },
  {
    name: 'ignores SIGTERM',
    switches: () => ['--sim-ignore-sigterm'],
    expected: [COMPLETED],
  },
  {
    name: 'drift and a noisy neighbour',
    switches: () => ['--sim-drift', '0.02', '--sim-neighbour', '0.02'],
    expected: [COMPLETED],
  },
  {
    name: 'other clients',
    switches: () => [],
    outside: 'foreign-requests',
    expected: ['failed foreign-requests'],
  },
  {
    name: 'disk full',
    switches: () => [],
    outside: 'full-disk',
    expected: ['sweep ended: the disk is full'],
  },
  {
    name: 'process that never ends',
    switches: () => [],
    outside: 'never-stops',
    expected: ['sweep ended: the server could not be stopped: pid 4242 left'],
  },
  {
    name: 'start refused by the machine',
    switches: () => [],
    outside: 'start-refused',
    expected: ['failed error'],
  },
  {
    name: 'link that breaks during the stop',
    switches: () => [],
    outside: 'stop-fails',
    expected: ['sweep ended: the server could not be stopped: the link broke'],
  },
  {
    name: 'GPU memory never given back',
    switches: () => [],
    outside: 'gpu-never-free',
    expected: ['sweep ended: broken-environment'],
  },
];
