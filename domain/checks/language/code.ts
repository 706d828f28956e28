/**
 * Makes code of the tree of an expression. It counts its steps, reads only own fields of objects,
 * and keeps no state.
 *
 * @module
 */
import { callCode, readText } from "./functions.ts";
import { loopCode } from "./loops.ts";
import {
  charge,
  chargePattern,
  type Code,
  Failure,
  type Machine,
  searchSteps,
  shorten,
  wrongKind,
} from "./machine.ts";
import { kindOf } from "./names.ts";
import { isObject, operatorOf } from "./operators.ts";
import { matches } from "./pattern.ts";
import type { Term } from "./term.ts";

/** Returns the code of a term. */
export function codeOf(term: Term): Code {
  const { text } = term;
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
      return fieldCode(term);
    case "index":
      return indexCode(codeOf(term.of), codeOf(term.at), term);
    case "has":
      return hasCode(term);
    case "not":
    case "minus":
      return unaryCode(codeOf(term.of), term);
    case "and":
    case "or":
      return logicCode(term);
    case "choose": {
      const [test, left, right] = [codeOf(term.test), codeOf(term.left), codeOf(term.right)];
      const name = term.test.text;
      return (machine) => (truth(test(machine), name) ? left : right)(machine);
    }
    case "binary": {
      const [left, right] = [codeOf(term.left), codeOf(term.right)];
      const operator = operatorOf(term.op, text);
      return (machine) => operator(left(machine), right(machine), machine);
    }
    case "call": {
      const [first, second] = term.of;
      return callCode(term.name, term.of.map(codeOf), first?.text ?? "", second?.text ?? "");
    }
    case "finds":
      return findsCode(term);
    case "list": {
      const items = term.items.map(codeOf);
      return (machine) => items.map((item) => item(machine));
    }
    case "map":
      return mapCode(term);
    case "loop":
      return loopCode(term, codeOf);
  }
}

type TermOf<Kind extends Term["kind"]> = Extract<Term, { readonly kind: Kind }>;

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

function fieldCode({ text, of, key, isScalar }: TermOf<"field">): Code {
  const owner = codeOf(of);
  const missing = noField(of.text, key);
  const unknown = unknownValue(text);
  return (machine) => {
    const value = owner(machine);
    if (!isObject(value)) throw notAnObject(of.text, key, value);
    if (!Object.hasOwn(value, key)) throw missing;
    const field = value[key];
    if (field === null && isScalar) throw unknown;
    return field;
  };
}

function hasCode({ of, key, isScalar }: TermOf<"has">): Code {
  const owner = codeOf(of);
  return (machine) => {
    const value = ownerOrNull(owner, machine);
    return isObject(value) && Object.hasOwn(value, key) && !(isScalar && value[key] === null);
  };
}

/** Returns an owner; null if it does not exist itself, so that it has no field either. */
function ownerOrNull(owner: Code, machine: Machine): unknown {
  try {
    return owner(machine);
  } catch (error) {
    if (error instanceof Failure && error.reason === "no_such_key") return null;
    throw error;
  }
}

function noField(owner: string, key: string): Failure {
  const named = /^[a-z]\w*$/.test(owner) ? `The ${owner}` : `\`${shorten(owner)}\``;
  return new Failure("no_such_key", `${named} has no field \`${shorten(key)}\``);
}

function notAnObject(owner: string, key: string, value: unknown): Failure {
  const message = `\`${shorten(owner)}\` has no field \`${shorten(key)}\`: it is ${kindOf(value)}`;
  return new Failure("no_such_key", message);
}

function indexCode(owner: Code, place: Code, { of, at }: TermOf<"index">): Code {
  return (machine) => {
    const list = owner(machine);
    const index = place(machine);
    if (typeof index === "string" && isObject(list)) {
      if (Object.hasOwn(list, index)) return list[index];
      throw noField(of.text, index);
    }
    if (!Array.isArray(list)) throw wrongKind(of.text, "a list", list);
    if (typeof index !== "number") throw wrongKind(at.text, "a number", index);
    if (Number.isInteger(index) && index >= 0 && index < list.length) return list[index];
    const message = `\`${shorten(of.text)}\` has ${list.length} items, and no item ${index}`;
    throw new Failure("no_such_item", message);
  };
}

function unaryCode(of: Code, term: TermOf<"not" | "minus">): Code {
  const { text } = term.of;
  if (term.kind === "not") return (machine) => !truth(of(machine), text);
  return (machine) => {
    const value = of(machine);
    if (typeof value !== "number") throw wrongKind(text, "a number", value);
    return -value;
  };
}

/** Returns the code of `&&` and `||`: a side that decides makes up for a failure of the other. */
function logicCode({ kind, left, right }: TermOf<"and" | "or">): Code {
  const [first, second] = [codeOf(left), codeOf(right)];
  const decisive = kind === "or";
  return (machine) => {
    let failure: Failure | null = null;
    try {
      if (truth(first(machine), left.text) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof Failure) || error.isFinal) throw error;
      failure = error;
    }
    const other = truth(second(machine), right.text);
    if (other !== decisive && failure !== null) throw failure;
    return other;
  };
}

/** Returns a value that must be true or false. */
export function truth(value: unknown, text: string): boolean {
  if (typeof value === "boolean") return value;
  throw wrongKind(text, "true or false", value);
}

function findsCode({ of, pattern }: TermOf<"finds">): Code {
  const subject = codeOf(of);
  return (machine) => {
    const text = readText(subject(machine), machine, of.text);
    if (pattern.size === 0) charge(machine, searchSteps(text.length, pattern.source.length));
    else chargePattern(machine, text.length, pattern.size);
    return matches(text, pattern, machine.patterns);
  };
}

function mapCode({ entries }: TermOf<"map">): Code {
  const parts = entries.map(([key, value]) => [codeOf(key), codeOf(value)] as const);
  return (machine) => {
    // An object without a prototype has only the fields that it is given.
    const object: Record<string, unknown> = Object.create(null);
    for (const [key, value] of parts) object[String(key(machine))] = value(machine);
    return object;
  };
}
