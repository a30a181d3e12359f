import { chaoticSweep } from './chaotic-sweep.ts';
import { FAILURES } from './failures.ts';

const only = process.argv[2];
await Promise.all(
  FAILURES.filter((f) => only === undefined || f.name === only).map(async (failure) => {
    const r = await chaoticSweep({ seed: 3, failureFraction: 1, failures: [failure] });
    console.log(
      `== ${failure.name}: ${r.end} ${r.problems.join()} runs=${r.stillRuns} open=${r.openLaunches} eligible=${r.eligible.join()} n=${r.measurements.length} sim s ${r.seconds.toFixed(0)}\n` +
        r.trials
          .slice(1)
          .map((t) => `   ${t.number} ${t.state} ${t.cause} ${t.reason?.slice(0, 160)}`)
          .join('\n'),
    );
  }),
);
