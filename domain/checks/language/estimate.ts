/**
 * Estimates the steps of an expression from the sizes of its values.
 *
 * @module
 */
import {
  CHARS_CONVERTED_PER_STEP,
  CHARS_COUNTED_PER_STEP,
  CHARS_MADE_PER_STEP,
  CHARS_READ_PER_STEP,
  FAILURE_STEPS,
  PART_STEPS,
  patternSteps,
  searchSteps,
} from "./machine.ts";
import type { Size, SizeOfFact } from "../program.ts";
import { SCALAR, textSize } from "./sizes.ts";
import { type FunctionName, type Loop, partsOf, type Term } from "./term.ts";

/** Returns the steps that a term may take, and the size of its value. */
interface Estimate {
  steps: number;
  readonly sizeOf: SizeOfFact;
  /** Sizes of the items of the loops around. */
  readonly items: Size[];
}

/**
 * Returns the steps that an expression may take at most.
 *
 * @param sizeOf sizes of its facts
 */
export function estimate(term: Term, sizeOf: SizeOfFact): number {
  const result: Estimate = { steps: 0, sizeOf, items: [] };
  visit(term, result);
  return result.steps;
}

/** Adds the steps of a term, and returns the size of its value. */
function visit(term: Term, to: Estimate): Size {
  if (term.kind === "loop") return visitLoop(term, to);
  to.steps += PART_STEPS;
  const parts = partsOf(term).map((part) => visit(part, to));
  const [first = SCALAR, second = SCALAR, third = SCALAR] = parts;
  switch (term.kind) {
    case "value":
      return typeof term.value === "string" ? textSize(term.value.length) : SCALAR;
    case "fact":
      return to.sizeOf(term.name);
    case "item":
      return to.items[term.slot] ?? SCALAR;
    case "field":
      return term.isScalar ? textSize(first.chars) : first;
    case "index":
      return first;
    case "choose":
      return larger(second, third);
    case "list":
    case "map":
      return literalSize(parts);
    case "finds": {
      const { size, source } = term.pattern;
      to.steps += 1 + first.chars / CHARS_READ_PER_STEP;
      to.steps += size === 0
        ? searchSteps(first.chars, source.length)
        : patternSteps(first.chars, size);
      return SCALAR;
    }
    case "call":
      return callSize(term.name, first, second, to);
    case "binary":
      return binarySize(term.op, first, second, to);
    default:
      return SCALAR;
  }
}

function visitLoop(loop: Loop, to: Estimate): Size {
  const over = visit(loop.over, to);
  const before = to.steps;
  // An item of "all" and "exists" that has no value takes more.
  to.steps = PART_STEPS + (loop.result === null ? FAILURE_STEPS : 0);
  to.items[loop.slot] = over;
  if (loop.test !== null) visit(loop.test, to);
  const made = loop.result === null ? over : visit(loop.result, to);
  to.steps = before + PART_STEPS + times(over.items, PART_STEPS + to.steps);
  if (loop.name === "filter") return over;
  if (loop.name !== "map") return SCALAR;
  return {
    items: Math.max(over.items, made.items),
    chars: made.chars,
    steps: PART_STEPS + times(over.items, made.steps),
  };
}

function literalSize(parts: readonly Size[]): Size {
  const size = parts.reduce(larger, { ...SCALAR, items: parts.length });
  return { ...size, steps: parts.reduce((sum, { steps }) => sum + steps, PART_STEPS) };
}

function callSize(name: FunctionName, first: Size, second: Size, to: Estimate): Size {
  switch (name) {
    case "int":
    case "double":
      return SCALAR;
    case "string":
      return { ...first, chars: Math.max(first.chars, 32) };
    case "lowerAscii":
    case "upperAscii":
      to.steps += 1 + first.chars / CHARS_MADE_PER_STEP + first.chars / CHARS_CONVERTED_PER_STEP;
      return first;
    case "size":
    case "words":
      to.steps += 1 + first.chars / CHARS_COUNTED_PER_STEP + first.items * PART_STEPS;
      return SCALAR;
    default:
      to.steps += 2 + (first.chars + second.chars) / CHARS_READ_PER_STEP;
      if (name === "contains") to.steps += searchSteps(first.chars, second.chars);
      return SCALAR;
  }
}

function binarySize(op: string, left: Size, right: Size, to: Estimate): Size {
  switch (op) {
    case "==":
    case "!=":
      // Two values are read no further than the smaller one.
      to.steps += 2 * Math.min(left.steps, right.steps) + PART_STEPS;
      return SCALAR;
    case "in":
      to.steps += times(right.items, PART_STEPS + 2 * Math.min(left.steps, right.steps));
      return SCALAR;
    case "+": {
      const chars = left.chars + right.chars;
      to.steps += chars / CHARS_MADE_PER_STEP + (left.items + right.items) * PART_STEPS;
      return { items: left.items + right.items, chars, steps: left.steps + right.steps };
    }
    case "<":
    case "<=":
    case ">":
    case ">=":
      to.steps += Math.min(left.chars, right.chars) / CHARS_READ_PER_STEP;
      return SCALAR;
    default:
      return SCALAR;
  }
}

function larger(one: Size, other: Size): Size {
  return {
    items: Math.max(one.items, other.items),
    chars: Math.max(one.chars, other.chars),
    steps: Math.max(one.steps, other.steps),
  };
}

/** Multiplies, without a result that is no number for none of what is unbounded. */
function times(count: number, steps: number): number {
  return count === 0 ? 0 : count * steps;
}
