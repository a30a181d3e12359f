import type { FlagValue } from './assignment.ts';

/**
 * Condition on one parameter: a value, any of several values (`anyOf`), or a comparison with a
 * number or with another parameter of the same assignment.
 */
export type Condition =
  | { readonly kind: 'equals'; readonly value: FlagValue }
  | { readonly kind: 'anyOf'; readonly values: readonly FlagValue[] }
  | {
      readonly kind: 'compare';
      readonly operator: '<' | '<=' | '>' | '>=' | '!=' | '==';
      readonly operand: { readonly value: FlagValue } | { readonly parameter: string };
    };

/** Where `when` holds (all of its conditions), `require` must hold, and `forbid` must not. */
export interface Constraint {
  /** As shown to the user, e.g. `when speculative-eagle-topk = 1 require ...`. */
  readonly text: string;
  /** 1-based line in the study file. */
  readonly line?: number;
  readonly when: Readonly<Record<string, Condition>>;
  readonly require?: Readonly<Record<string, Condition>>;
  /** Broken when all of these hold. */
  readonly forbid?: Readonly<Record<string, Condition>>;
}
