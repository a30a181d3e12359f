import { randomBytes } from 'node:crypto';
import type { LoadPlan } from './load-run.ts';
import { requestBody } from './request-body.ts';

/** Request bodies, `concurrency` ahead of their turn, so that a free slot sends without delay. */
export class BodyQueue {
  readonly #plan: LoadPlan;
  readonly #bodies = new Map<number, Buffer>();
  #prepared = 0;
  /** Unique per run; with indices of one width no request id is a prefix of another. */
  readonly #runId = randomBytes(6).toString('hex');

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    for (let ahead = 0; ahead < plan.concurrency; ahead += 1) this.prepareNext();
  }

  requestId(index: number): string {
    return `nightsweep-${this.#runId}-${String(index).padStart(7, '0')}`;
  }

  take(index: number): Buffer {
    const body = this.#bodies.get(index) ?? this.#build(index);
    this.#bodies.delete(index);
    return body;
  }

  prepareNext(): void {
    if (this.#prepared >= this.#plan.requests) return;
    this.#bodies.set(this.#prepared, this.#build(this.#prepared));
    this.#prepared += 1;
  }

  #build(index: number): Buffer {
    const shape = { ...this.#plan, stream: true };
    return requestBody(shape, this.#plan.prompts.prompt(index), this.requestId(index));
  }
}
