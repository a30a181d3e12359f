import { createHash } from 'node:crypto';
import type { FlagValue } from '../search-space/assignment.ts';
import { type Conditions, verdictOf } from '../search-space/constraints.ts';
import { numericValue, sameValue, valueIdentity } from '../search-space/values.ts';
import type { LaunchContext } from './launch-context.ts';
import { contextValues } from './launch-context.ts';
import { derivedValue, flagDefaults } from './launch-values.ts';
import type { Rule, Setting } from './rule.ts';

/** A value that depends on something unknown. Equal tokens: equal values, whatever they are. */
export interface Unknown {
  readonly unknown: string;
}

type Held = FlagValue | Unknown;

/** Whether a rule holds: undefined when it depends on what is not known. */
export type Holds = boolean | undefined;

function isUnknown(value: Held | undefined): value is Unknown {
  return typeof value === 'object' && value !== null && 'unknown' in value;
}

function remainder(a: FlagValue | undefined, b: FlagValue | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  const [left, right] = [numericValue(a), numericValue(b)];
  return left === undefined || right === undefined || right <= 0 ? 0 : left % right;
}

/** Longer tokens are replaced by a digest; equal ones stay equal. */
const TOKEN_CHARACTERS = 100;

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** The flags of one launch while rules are applied to them: values, and what is not known of them. */
export class LaunchState {
  private readonly values = new Map<string, Held>();

  constructor(flags: Readonly<Record<string, FlagValue>>, context: LaunchContext) {
    for (const [name, value] of Object.entries(flagDefaults)) this.values.set(name, value);
    for (const [name, value] of Object.entries(flags)) {
      if (!sameValue(value, null)) this.values.set(name, value);
    }
    for (const [name, value] of Object.entries(contextValues(context))) {
      // `--device` is a flag and a fact: what the command says counts where the facts are silent.
      if (value !== undefined) this.values.set(name, value);
      else if (!this.values.has(name)) this.values.set(name, { unknown: name });
    }
  }

  /** Value of a flag, of a fact about the machine (`gpu.capability`), or of a derived name; undefined when unknown. */
  lookup = (name: string): FlagValue | undefined => {
    const held = this.values.get(name);
    if (isUnknown(held)) return undefined;
    return held ?? derivedValue(name, this.lookup);
  };

  /** As `lookup`, printable, for flags only: equal texts mean equal values, known or not. */
  identity(name: string): string {
    const held = this.values.get(name) ?? null;
    return isUnknown(held) ? `? ${held.unknown}` : valueIdentity(held);
  }

  holds({ when, notMultiple }: Rule): Holds {
    const conditions = this.anyOf(when);
    if (conditions === false || notMultiple === undefined) return conditions;
    const [dividend, divisor] = notMultiple;
    const rest = remainder(this.lookup(dividend), this.lookup(divisor));
    if (rest === 0) return false;
    return rest === undefined ? undefined : conditions;
  }

  private anyOf(alternatives: readonly Conditions[]): Holds {
    const verdicts = alternatives.map((conditions) =>
      verdictOf({ text: '', when: {}, forbid: conditions }, this.lookup),
    );
    if (verdicts.includes('rejects')) return true;
    return verdicts.includes('open') ? undefined : false;
  }

  /** What the setting writes; undefined when it depends on something unknown. */
  computed(setting: Setting): FlagValue | undefined {
    if (typeof setting !== 'object' || setting === null) return setting;
    if ('copy' in setting) {
      const source = this.lookup(setting.copy);
      const number = source === undefined ? undefined : numericValue(source);
      if (source === undefined || setting.plus === undefined || number === undefined) return source;
      return number + setting.plus;
    }
    if ('quotient' in setting) return this.quotient(setting.quotient);
    if ('product' in setting) {
      const source = this.lookup(setting.product[0]);
      return source === undefined ? undefined : (numericValue(source) ?? 0) * setting.product[1];
    }
    if ('maximumOf' in setting) {
      const list = this.lookup(setting.maximumOf);
      return Array.isArray(list) ? Math.max(...list.map(Number)) : list;
    }
    return setting;
  }

  private quotient([a, b]: readonly [string, string]): FlagValue | undefined {
    const [left, right] = [this.lookup(a), this.lookup(b)];
    if (left === undefined || right === undefined) return undefined;
    const divisor = numericValue(right) ?? 0;
    return divisor === 0 ? null : Math.floor((numericValue(left) ?? 0) / divisor);
  }

  write(name: string, value: FlagValue | undefined, why: string): void {
    this.values.set(name, value === undefined ? { unknown: why } : value);
  }

  /** A text that is equal for two states in which an undecided rule ends the same way. */
  tokenOf({ id, when, notMultiple }: Rule): string {
    const conditioned = when.flatMap((one) => Object.keys(one));
    const names = new Set([...conditioned, ...(notMultiple ?? [])]);
    const held = [...names].map((name) => `${name}=${this.identityOf(name)}`);
    const token = `${id}(${held.join(', ')})`;
    // Tokens are built of tokens: whole, they grow to hundreds of kilobytes.
    return token.length <= TOKEN_CHARACTERS ? token : `${id}#${digest(token)}`;
  }

  private identityOf(name: string): string {
    if (this.values.has(name)) return this.identity(name);
    const derived = derivedValue(name, this.lookup);
    return derived === undefined ? '?' : valueIdentity(derived);
  }
}
