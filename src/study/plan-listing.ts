import { type Assignment, assignmentKey, type FlagValue } from '../search-space/assignment.ts';
import { leavesChoice, sameSetting } from '../sglang/same-setting.ts';
import type {
  EquivalentAssignment,
  Judge,
  Judgement,
  Objection,
  PlannedTrial,
  SkippedGroup,
} from './plan.ts';

/**
 * Collects the assignments of a grid: one trial for each server that they come to, in the order
 * in which they come, the baseline first.
 */
export class PlanListing {
  readonly trials: PlannedTrial[] = [];
  readonly equivalent: EquivalentAssignment[] = [];
  readonly illegal = new Map<string, SkippedGroup & { assignments: Assignment[] }>();
  readonly #byEffect = new Map<string, number>();
  readonly #judge: Judge;

  constructor(production: Assignment, judge: Judge) {
    // Predicting takes a good part of a millisecond, and every assignment is asked about twice.
    const known = new WeakMap<Assignment, Judgement>();
    this.#judge = (assignment) => {
      const judgement = known.get(assignment) ?? judge(assignment);
      known.set(assignment, judgement);
      return judgement;
    };
    const { effectiveKey, notes } = this.#judge(production);
    this.trials.push({ assignment: production, isBaseline: true, notes });
    this.#byEffect.set(effectiveKey, 0);
  }

  add(assignment: Assignment): void {
    const { effectiveKey, illegal, notes } = this.#judge(assignment);
    if (illegal !== undefined) {
      this.#skip(assignment, illegal);
      return;
    }
    const sameAs = this.#byEffect.get(effectiveKey);
    if (sameAs === undefined) {
      this.#byEffect.set(effectiveKey, this.trials.length);
      this.trials.push({ assignment, isBaseline: false, notes });
      return;
    }
    const twin = this.trials[sameAs];
    if (twin === undefined) return;
    const isTheSame = assignmentKey(twin.assignment) === assignmentKey(assignment);
    if (isTheSame) return;
    // Of equivalent assignments the one is launched whose values are what runs.
    const isBetter =
      !twin.isBaseline && this.#isRewritten(twin) && !this.#isRewritten({ assignment });
    if (isBetter) this.trials[sameAs] = { assignment, isBaseline: false, notes };
    this.equivalent.push({ assignment: isBetter ? twin.assignment : assignment, sameAs });
  }

  /**
   * Where no assignment of the grid has the values that its server runs, that server is launched
   * by its own name: no trial enters the ranking with a value that is not in force.
   */
  nameWhatRuns(): void {
    for (const [index, trial] of this.trials.entries()) {
      if (trial.isBaseline || !this.#isRewritten(trial)) continue;
      const assignment = this.#inForce(trial.assignment);
      const { effectiveKey, illegal, notes } = this.#judge(assignment);
      const isSame = this.#byEffect.get(effectiveKey) === index;
      if (!isSame || illegal !== undefined || this.#isRewritten({ assignment })) continue;
      this.trials[index] = { assignment, isBaseline: false, notes };
      this.equivalent.push({ assignment: trial.assignment, sameAs: index });
    }
  }

  #isRewritten({ assignment }: Pick<PlannedTrial, 'assignment'>): boolean {
    return this.#rewrites(assignment).length > 0;
  }

  /** Values of the assignment in whose place the server is predicted to run another. */
  #rewrites(assignment: Assignment): readonly (readonly [string, FlagValue])[] {
    const { predicted } = this.#judge(assignment);
    return Object.entries(assignment).flatMap(([name, asked]) => {
      const runs = predicted[name];
      if (runs === undefined || leavesChoice(asked) || asked === false) return [];
      return sameSetting(name, asked, runs) ? [] : [[name, asked === true ? false : runs] as const];
    });
  }

  #inForce(assignment: Assignment): Assignment {
    return { ...assignment, ...Object.fromEntries(this.#rewrites(assignment)) };
  }

  #skip(assignment: Assignment, { rule, reason, by = 'sglang' }: Objection): void {
    const assignments = this.illegal.get(rule)?.assignments ?? [];
    assignments.push(assignment);
    const count = assignments.length;
    this.illegal.set(rule, { rule, reason, by, count, assignments });
  }
}
