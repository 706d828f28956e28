/**
 * Makes code of the tree of an expression, and estimates its steps. The code counts its steps, reads
 * only own fields of objects, and keeps no state.
 *
 * @module
 */
import {
  charge,
  chargePattern,
  CHARS_READ_PER_STEP,
  type Code,
  Failure,
  FAILURE_STEPS,
  type Machine,
  PART_STEPS,
  patternSteps,
  searchSteps,
  shorten,
  truth,
  wrongKind,
} from "./machine.ts";
import type { Size, SizeOfFact } from "../program.ts";
import { isObject, kindOf } from "./names.ts";
import { noField, OPERATIONS, readText } from "./operations.ts";
import { matches } from "./pattern.ts";
import { larger, SCALAR, textSize, times } from "./sizes.ts";
import type { Term, TermOf } from "./term.ts";

/** Returns the number of parts that are evaluated once. */
export function countParts(term: Term): number {
  const parts = term.kind === "loop" ? term.parts.slice(0, 1) : term.parts;
  return parts.reduce((sum, part) => sum + countParts(part), 1);
}

/** Returns the code of a term. */
export function codeOf(term: Term): Code {
  if (term.kind === "loop") return loopCode(term);
  const codes = term.parts.map(codeOf);
  const [first = NOTHING, second = NOTHING, third = NOTHING] = codes;
  const [firstText = "", secondText = ""] = term.parts.map(({ text }) => text);
  switch (term.kind) {
    case "value": {
      const { value } = term;
      return () => value;
    }
    case "fact":
      return factCode(term);
    case "item": {
      const { slot } = term;
      return ({ items }) => items[slot];
    }
    case "field":
      return fieldCode(term, first, firstText);
    case "has":
      return hasCode(term, first);
    case "finds":
      return findsCode(term, first, firstText);
    case "operation": {
      const { run } = OPERATIONS[term.name];
      const texts = { whole: term.text, first: firstText, second: secondText };
      return (machine) => run(first(machine), second(machine), machine, texts);
    }
    case "&&":
    case "||":
      return logicCode(term.kind === "||", first, firstText, second, secondText);
    case "?:":
      return (machine) => (truth(first(machine), firstText) ? second : third)(machine);
    case "list":
      return (machine) => codes.map((item) => item(machine));
    case "object":
      return objectCode(codes);
  }
}

const NOTHING: Code = () => null;

function factCode({ name }: TermOf<"fact">): Code {
  const unknown = unknownValue(name);
  return ({ facts }) => {
    const value = facts[name];
    if (value === undefined || value === null && name !== "output") throw unknown;
    return value;
  };
}

function unknownValue(text: string): Failure {
  return new Failure("unknown", `\`${shorten(text)}\` is unknown`);
}

function fieldCode(
  { text, key, isScalar }: TermOf<"field" | "has">,
  owner: Code,
  of: string,
): Code {
  const missing = noField(of, key);
  const unknown = unknownValue(text);
  return (machine) => {
    const value = owner(machine);
    if (!isObject(value)) {
      const message = `\`${shorten(of)}\` has no field \`${shorten(key)}\`: it is ${kindOf(value)}`;
      throw new Failure("no_such_key", message);
    }
    if (!Object.hasOwn(value, key)) throw missing;
    const field = value[key];
    if (field === null && isScalar) throw unknown;
    return field;
  };
}

/** An owner that does not exist itself has no field either. */
function hasCode({ key, isScalar }: TermOf<"field" | "has">, owner: Code): Code {
  return (machine) => {
    try {
      const value = owner(machine);
      return isObject(value) && Object.hasOwn(value, key) && !(isScalar && value[key] === null);
    } catch (error) {
      if (error instanceof Failure && error.reason === "no_such_key") return false;
      throw error;
    }
  };
}

/** A side that decides makes up for a failure of the other. */
function logicCode(
  decisive: boolean,
  left: Code,
  leftText: string,
  right: Code,
  rightText: string,
): Code {
  return (machine) => {
    let failure: Failure | null = null;
    try {
      if (truth(left(machine), leftText) === decisive) return decisive;
    } catch (error) {
      failure = passing(error);
    }
    const other = truth(right(machine), rightText);
    if (other !== decisive && failure !== null) throw failure;
    return other;
  };
}

/** Returns a failure that another value may make up for; throws any other error. */
function passing(error: unknown): Failure {
  if (error instanceof Failure && !error.isFinal) return error;
  throw error;
}

function findsCode({ pattern }: TermOf<"finds">, subject: Code, name: string): Code {
  return (machine) => {
    const text = readText(subject(machine), machine, name);
    if (pattern.size === 0) charge(machine, searchSteps(text.length, pattern.source.length));
    else chargePattern(machine, text.length, pattern.size);
    return matches(text, pattern, machine.patterns);
  };
}

function objectCode(parts: readonly Code[]): Code {
  return (machine) => {
    // An object without a prototype has only the fields that it is given.
    const object: Record<string, unknown> = Object.create(null);
    for (let i = 0; i < parts.length; i += 2) {
      object[String(parts[i]?.(machine))] = parts[i + 1]?.(machine);
    }
    return object;
  };
}

/** Returns the parts of a loop; null for none. */
function loopParts({ parts, isTested, isMapped }: TermOf<"loop">) {
  const [over, second = null, third = null] = parts;
  if (over === undefined) throw new TypeError("A loop has items");
  return { over, test: isTested ? second : null, result: isMapped ? third ?? second : null };
}

function loopCode(loop: TermOf<"loop">): Code {
  const { slot, name } = loop;
  const { over, test, result } = loopParts(loop);
  const [list, wanted, value] = [codeOf(over), test && codeOf(test), result && codeOf(result)];
  const [, ...inner] = loop.parts;
  const steps = PART_STEPS * inner.reduce((sum, part) => sum + countParts(part), 1);
  const take = (machine: Machine, item: unknown) => {
    charge(machine, steps);
    machine.items[slot] = item;
  };
  const items = (machine: Machine) => itemsOf(list(machine), machine, over.text);
  const isWanted = (machine: Machine) =>
    wanted === null || truth(wanted(machine), test?.text ?? "");
  if (name === "all" || name === "exists") return quantifierCode(items, take, isWanted, name);
  if (name === "exists_one") {
    return (machine) => {
      let count = 0;
      for (const item of items(machine)) {
        take(machine, item);
        if (isWanted(machine)) count++;
      }
      return count === 1;
    };
  }
  return (machine) => {
    const kept: unknown[] = [];
    for (const item of items(machine)) {
      take(machine, item);
      if (isWanted(machine)) kept.push(value === null ? item : value(machine));
    }
    return kept;
  };
}

/** An item that decides makes up for failures of others. */
function quantifierCode(
  items: (machine: Machine) => readonly unknown[],
  take: (machine: Machine, item: unknown) => void,
  isWanted: (machine: Machine) => boolean,
  name: "all" | "exists",
): Code {
  const decisive = name === "exists";
  return (machine) => {
    let failure: Failure | null = null;
    for (const item of items(machine)) {
      take(machine, item);
      try {
        if (isWanted(machine) === decisive) return decisive;
      } catch (error) {
        failure ??= passing(error);
        charge(machine, FAILURE_STEPS);
      }
    }
    if (failure !== null) throw failure;
    return !decisive;
  };
}

function itemsOf(value: unknown, machine: Machine, text: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isObject(value)) throw wrongKind(text, "a list or an object", value);
  const keys = Object.keys(value);
  charge(machine, keys.length * PART_STEPS);
  return keys;
}

/** Steps so far, and what they depend on. */
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
  addSteps(term, result);
  return result.steps;
}

/** Adds the steps of a term, and returns the size of its value. */
function addSteps(term: Term, to: Estimate): Size {
  if (term.kind === "loop") return addLoop(term, to);
  to.steps += PART_STEPS;
  const sizes = term.parts.map((part) => addSteps(part, to));
  const [first = SCALAR, second = SCALAR, third = SCALAR] = sizes;
  switch (term.kind) {
    case "value":
      return typeof term.value === "string" ? textSize(term.value.length) : SCALAR;
    case "fact":
      return to.sizeOf(term.name);
    case "item":
      return to.items[term.slot] ?? SCALAR;
    case "field":
      return term.isScalar ? textSize(first.chars) : first;
    case "?:":
      return larger(second, third);
    case "list":
    case "object": {
      const size = sizes.reduce(larger, { ...SCALAR, items: sizes.length });
      return { ...size, steps: sizes.reduce((sum, { steps }) => sum + steps, PART_STEPS) };
    }
    case "finds": {
      const { size, source } = term.pattern;
      to.steps += 1 + first.chars / CHARS_READ_PER_STEP;
      to.steps += size === 0
        ? searchSteps(first.chars, source.length)
        : patternSteps(first.chars, size);
      return SCALAR;
    }
    case "operation": {
      const { steps, size } = OPERATIONS[term.name];
      to.steps += steps?.(first, second) ?? 0;
      return size?.(first, second) ?? SCALAR;
    }
    default:
      return SCALAR;
  }
}

function addLoop(loop: TermOf<"loop">, to: Estimate): Size {
  const { over, test, result } = loopParts(loop);
  const list = addSteps(over, to);
  const before = to.steps;
  // An item of "all" and "exists" that has no value takes more.
  to.steps = PART_STEPS + (result === null ? FAILURE_STEPS : 0);
  to.items[loop.slot] = list;
  if (test !== null) addSteps(test, to);
  const made = result === null ? list : addSteps(result, to);
  to.steps = before + PART_STEPS + times(list.items, PART_STEPS + to.steps);
  if (loop.name === "filter") return list;
  if (loop.name !== "map") return SCALAR;
  return {
    items: Math.max(list.items, made.items),
    chars: made.chars,
    steps: PART_STEPS + times(list.items, made.steps),
  };
}
