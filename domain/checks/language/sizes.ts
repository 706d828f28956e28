/**
 * Sizes of values, which bound the steps of an expression.
 *
 * @module
 */
import { CALLS_MAX, type FactName, type Facts, type Size, type SizeOfFact } from "../program.ts";
import { CHARS_READ_PER_STEP, PART_STEPS } from "./machine.ts";

/** Size of a number, a truth value or null. */
export const SCALAR: Size = { items: 0, chars: 0, steps: PART_STEPS };

/** Size of what is not known to be bounded. */
export const UNBOUNDED: Size = { items: Infinity, chars: Infinity, steps: Infinity };

/** Size that is assumed when an expression is checked: full lists of short texts. */
export const FULL: Size = { ...textSize(64), items: CALLS_MAX };

/** Maximum values that are looked at; a larger value counts as unbounded. */
const VALUES_READ_MAX = 20_000;

/** Size of a name or of a label, which are short. */
const SHORT: Size = { items: 0, chars: 512, steps: 2 };

/** Sizes of names that need no look at their values. */
const KNOWN: Partial<Record<FactName, Size>> = {
  status: SHORT,
  kind: SHORT,
  agent: SHORT,
  customer_id: SHORT,
  feature: SHORT,
  duration_ms: SCALAR,
  cost_usd: SCALAR,
  cost_with_children_usd: SCALAR,
  usage: { items: 7, chars: 0, steps: 7 * PART_STEPS },
};

/** Returns sizes that are the same for each fact, but for those that are always small. */
export function assumed(size: Size): SizeOfFact {
  return (name) => KNOWN[name] ?? size;
}

/** Returns the sizes of facts. It keeps them, because several checks judge one run. */
export function measure(facts: Facts): SizeOfFact {
  const sizes = new Map<FactName, Size>();
  return (name) => {
    let size = KNOWN[name] ?? sizes.get(name);
    if (size === undefined) sizes.set(name, size = sizeOf(facts[name]));
    return size;
  };
}

/** Returns the size of a text. */
export function textSize(chars: number): Size {
  return { items: 0, chars, steps: PART_STEPS + chars / CHARS_READ_PER_STEP };
}

/** Returns the size of JSON, without recursion: it may be deep. */
function sizeOf(root: unknown): Size {
  const pending: unknown[] = [root];
  let [items, chars, steps, count] = [0, 0, 0, 0];
  while (pending.length > 0) {
    if (++count > VALUES_READ_MAX) return UNBOUNDED;
    const value = pending.pop();
    steps += PART_STEPS;
    if (typeof value === "string") {
      chars = Math.max(chars, value.length);
      steps += value.length / CHARS_READ_PER_STEP;
    }
    if (typeof value !== "object" || value === null) continue;
    const fields = Array.isArray(value) ? value : Object.values(value);
    if (fields.length > VALUES_READ_MAX) return UNBOUNDED;
    items = Math.max(items, fields.length);
    for (const field of fields) pending.push(field);
    if (Array.isArray(value)) continue;
    // Keys count as texts: a loop over an object reads them.
    for (const key of Object.keys(value)) chars = Math.max(chars, key.length);
  }
  return { items, chars, steps };
}

/** Returns the larger of two sizes in each way. */
export function larger(one: Size, other: Size): Size {
  return {
    items: Math.max(one.items, other.items),
    chars: Math.max(one.chars, other.chars),
    steps: Math.max(one.steps, other.steps),
  };
}

/** Multiplies, without a result that is no number for none of what is unbounded. */
export function times(count: number, steps: number): number {
  return count === 0 ? 0 : count * steps;
}
