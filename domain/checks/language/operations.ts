/**
 * Operations on values: what each takes and returns, and the steps that it costs.
 *
 * @module
 */
import {
  charge,
  CHARS_CONVERTED_PER_STEP,
  CHARS_COUNTED_PER_STEP,
  CHARS_MADE_PER_STEP,
  CHARS_READ_PER_STEP,
  Failure,
  type Machine,
  PART_STEPS,
  searchSteps,
  shorten,
  truth,
  wrongKind,
} from "./machine.ts";
import type { Size } from "../program.ts";
import { isObject, kindOf } from "./names.ts";
import { times } from "./sizes.ts";

/** Levels that two values are compared in depth. */
const LEVELS_MAX = 100;

/** Maximum characters of a text that is read as a number. */
const NUMBER_CHARS_MAX = 40;

/** Texts of an operation and of its values, for messages. */
export interface Texts {
  /** Text of the operation. */
  readonly whole: string;
  /** Text of its first value. */
  readonly first: string;
  /** Text of its second value; empty for none. */
  readonly second: string;
}

/** An operation on one or two values. */
export interface Operation {
  /** Number of its values; a receiver is the first. */
  readonly takes: 1 | 2;
  /** Returns its value; it charges the machine for what depends on the values. */
  readonly run: (first: unknown, second: unknown, machine: Machine, texts: Texts) => unknown;
  /** Returns the steps that it takes beyond those of a part, at most; none when absent. */
  readonly steps?: (first: Size, second: Size) => number;
  /** Returns the size of its value; that of a scalar when absent. */
  readonly size?: (first: Size, second: Size) => Size;
}

/** Two values are read no further than the smaller one. */
const EQUALITY = {
  takes: 2,
  steps: (left: Size, right: Size) => 2 * Math.min(left.steps, right.steps) + PART_STEPS,
} as const;

/** Texts are counted character by character, and objects field by field. */
const COUNTING = {
  takes: 1,
  steps: (value: Size) => 1 + value.chars / CHARS_COUNTED_PER_STEP + value.items * PART_STEPS,
} as const;

/** Operations by the name that the parser gives them. */
const TABLE = {
  "==": { ...EQUALITY, run: (left, right, machine) => equals(left, right, machine, 0) },
  "!=": { ...EQUALITY, run: (left, right, machine) => !equals(left, right, machine, 0) },
  "<": comparison("<", (left, right) => left < right),
  "<=": comparison("<=", (left, right) => left <= right),
  ">": comparison(">", (left, right) => left > right),
  ">=": comparison(">=", (left, right) => left >= right),
  in: {
    takes: 2,
    run: isIn,
    steps: (left, right) => times(right.items, PART_STEPS + 2 * Math.min(left.steps, right.steps)),
  },
  "+": {
    takes: 2,
    run: sum,
    steps: (left, right) =>
      (left.chars + right.chars) / CHARS_MADE_PER_STEP + (left.items + right.items) * PART_STEPS,
    size: (left, right) => ({
      items: left.items + right.items,
      chars: left.chars + right.chars,
      steps: left.steps + right.steps,
    }),
  },
  "-": arithmetic("-", (left, right) => left - right),
  "*": arithmetic("*", (left, right) => left * right),
  "/": arithmetic("/", (left, right, whole) => left / nonZero(right, whole)),
  "%": arithmetic("%", (left, right, whole) => left % nonZero(right, whole)),
  "!_": { takes: 1, run: (value, _, __, { first }) => !truth(value, first) },
  "-_": {
    takes: 1,
    run: (value, _, __, { first }) => {
      if (typeof value !== "number") throw wrongKind(first, "a number", value);
      return -value;
    },
  },
  "[]": { takes: 2, run: itemAt, size: (list) => list },
  size: { ...COUNTING, run: (value, _, machine, { first }) => count(value, machine, first) },
  words: {
    ...COUNTING,
    run: (value, _, machine, { first }) => countWords(countedText(value, machine, first)),
  },
  int: { takes: 1, run: (value, _, __, { first }) => Math.trunc(numberOf(value, "int", first)) },
  double: { takes: 1, run: (value, _, __, { first }) => numberOf(value, "double", first) },
  string: {
    takes: 1,
    run: (value, _, __, { first }) => stringOf(value, first),
    size: (value) => ({ ...value, chars: Math.max(value.chars, 32) }),
  },
  lowerAscii: conversion(/[A-Z]+/g, (part) => part.toLowerCase()),
  upperAscii: conversion(/[a-z]+/g, (part) => part.toUpperCase()),
  contains: search((text, part) => text.includes(part), searchSteps),
  startsWith: search((text, part) => text.startsWith(part)),
  endsWith: search((text, part) => text.endsWith(part)),
} as const satisfies Readonly<Record<string, Operation>>;

/**
 * Name of an operation, as the parser gives it.
 *
 * @internal
 */
export type OperationName = keyof typeof TABLE;

/** Operations by name. */
export const OPERATIONS: Readonly<Record<OperationName, Operation>> = TABLE;

/** Functions of values, which an expression calls by their names. */
export const FUNCTIONS: readonly string[] = Object.keys(TABLE)
  .filter((name) => /^[a-z]/.test(name) && name !== "in");

function comparison(
  op: string,
  compare: <Value extends string | number>(left: Value, right: Value) => boolean,
): Operation {
  return {
    takes: 2,
    run: (left, right, machine, { whole }) => {
      if (typeof left === "number" && typeof right === "number") return compare(left, right);
      const isText = typeof left === "string" && typeof right === "string";
      if (!isText) throw wrongPair(op, left, right, whole);
      charge(machine, Math.min(left.length, right.length) / CHARS_READ_PER_STEP);
      return compare(left, right);
    },
    steps: (left, right) => Math.min(left.chars, right.chars) / CHARS_READ_PER_STEP,
  };
}

function arithmetic(
  op: string,
  calculate: (left: number, right: number, whole: string) => number,
): Operation {
  return {
    takes: 2,
    run: (left, right, _, { whole }) => {
      if (typeof left === "number" && typeof right === "number") {
        return calculate(left, right, whole);
      }
      throw wrongPair(op, left, right, whole);
    },
  };
}

function nonZero(divisor: number, whole: string): number {
  if (divisor !== 0) return divisor;
  throw new Failure("division_by_zero", `\`${shorten(whole)}\` divides by zero`);
}

/** Converts the letters of ASCII; the engine's own conversion would change other letters too. */
function conversion(letters: RegExp, change: (part: string) => string): Operation {
  return {
    takes: 1,
    run: (value, _, machine, { first }) => {
      const text = textOf(value, machine, first, CHARS_MADE_PER_STEP);
      // deno-lint-ignore no-control-regex
      if (!/[^\x00-\x7f]/.test(text)) return change(text);
      charge(machine, text.length / CHARS_CONVERTED_PER_STEP);
      return text.replace(letters, change);
    },
    steps: ({ chars }) => 1 + chars / CHARS_MADE_PER_STEP + chars / CHARS_CONVERTED_PER_STEP,
    size: (value) => value,
  };
}

/** A search for a part of a text, with the steps that it takes beyond reading both. */
function search(
  isPart: (text: string, part: string) => boolean,
  steps = (_chars: number, _partChars: number) => 0,
): Operation {
  return {
    takes: 2,
    run: (whole, part, machine, { first, second }) => {
      const text = readText(whole, machine, first);
      const searched = readText(part, machine, second);
      charge(machine, steps(text.length, searched.length));
      return isPart(text, searched);
    },
    steps: (text, part) =>
      2 + (text.chars + part.chars) / CHARS_READ_PER_STEP + steps(text.chars, part.chars),
  };
}

/** Returns a value that must be a text, and takes the steps to read it. */
export function readText(value: unknown, machine: Machine, name: string): string {
  return textOf(value, machine, name, CHARS_READ_PER_STEP);
}

function countedText(value: unknown, machine: Machine, name: string): string {
  return textOf(value, machine, name, CHARS_COUNTED_PER_STEP);
}

function textOf(value: unknown, machine: Machine, name: string, charsPerStep: number): string {
  if (typeof value !== "string") throw wrongKind(name, "text", value);
  charge(machine, 1 + value.length / charsPerStep);
  return value;
}

/** Returns the failure of an object that lacks a field. */
export function noField(owner: string, key: string): Failure {
  const named = /^[a-z]\w*$/.test(owner) ? `The ${owner}` : `\`${shorten(owner)}\``;
  return new Failure("no_such_key", `${named} has no field \`${shorten(key)}\``);
}

function itemAt(list: unknown, index: unknown, _: Machine, { first, second }: Texts): unknown {
  if (typeof index === "string" && isObject(list)) {
    if (Object.hasOwn(list, index)) return list[index];
    throw noField(first, index);
  }
  if (!Array.isArray(list)) throw wrongKind(first, "a list", list);
  if (typeof index !== "number") throw wrongKind(second, "a number", index);
  if (Number.isInteger(index) && index >= 0 && index < list.length) return list[index];
  const message = `\`${shorten(first)}\` has ${list.length} items, and no item ${index}`;
  throw new Failure("no_such_item", message);
}

function sum(left: unknown, right: unknown, machine: Machine, { whole }: Texts): unknown {
  if (typeof left === "number" && typeof right === "number") return left + right;
  if (typeof left === "string" && typeof right === "string") {
    charge(machine, (left.length + right.length) / CHARS_MADE_PER_STEP);
    return left + right;
  }
  if (!Array.isArray(left) || !Array.isArray(right)) throw wrongPair("+", left, right, whole);
  charge(machine, (left.length + right.length) * PART_STEPS);
  return [...left, ...right];
}

function isIn(left: unknown, right: unknown, machine: Machine, { whole }: Texts): boolean {
  if (Array.isArray(right)) return right.some((item) => equals(left, item, machine, 0));
  if (isObject(right)) return typeof left === "string" && Object.hasOwn(right, left);
  throw wrongPair("in", left, right, whole);
}

/** Returns whether two values are equal; values of different kinds are not. */
function equals(left: unknown, right: unknown, machine: Machine, level: number): boolean {
  charge(machine, PART_STEPS);
  if (typeof left === "string" && typeof right === "string") {
    if (left.length !== right.length) return false;
    charge(machine, left.length / CHARS_READ_PER_STEP);
    return left === right;
  }
  const areLists = Array.isArray(left) && Array.isArray(right);
  if (!areLists && !(isObject(left) && isObject(right)) || left === right) return left === right;
  if (level === LEVELS_MAX) {
    throw new Failure("too_much_work", "The values nest too deep to compare", true);
  }
  if (isObject(left) && isObject(right)) return haveEqualFields(left, right, machine, level + 1);
  return areLists && left.length === right.length &&
    left.every((item, i) => equals(item, right[i], machine, level + 1));
}

function haveEqualFields(
  left: Readonly<Record<string, unknown>>,
  right: Readonly<Record<string, unknown>>,
  machine: Machine,
  level: number,
): boolean {
  const keys = Object.keys(left);
  const others = Object.keys(right);
  charge(machine, (keys.length + others.length) * PART_STEPS);
  return keys.length === others.length &&
    keys.every((key) => Object.hasOwn(right, key) && equals(left[key], right[key], machine, level));
}

function wrongPair(op: string, left: unknown, right: unknown, text: string): Failure {
  const message = `"${op}" in \`${shorten(text)}\` cannot take ${kindOf(left)} and ${
    kindOf(right)
  }`;
  return new Failure("wrong_type", message);
}

function count(value: unknown, machine: Machine, text: string): number {
  if (typeof value === "string") return countChars(countedText(value, machine, text));
  if (Array.isArray(value)) return value.length;
  if (typeof value !== "object" || value === null) {
    throw wrongKind(text, "text, a list or an object", value);
  }
  const { length } = Object.keys(value);
  charge(machine, length * PART_STEPS);
  return length;
}

function countChars(text: string): number {
  let count = text.length;
  for (let i = 1; i < text.length; i++) {
    const isSecond = (text.charCodeAt(i) & 0xfc00) === 0xdc00;
    // The two units of a character outside of the first plane count once.
    if (isSecond && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800) count--;
  }
  return count;
}

function countWords(text: string): number {
  let count = 0;
  let isInside = false;
  for (let i = 0; i < text.length; i++) {
    const isSpace = isWhiteSpace(text.charCodeAt(i));
    if (!isSpace && !isInside) count++;
    isInside = !isSpace;
  }
  return count;
}

function isWhiteSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 32 || unit >= 9 && unit <= 13;
  return unit === 0xa0 || unit === 0x85 || unit === 0x1680 || unit >= 0x2000 && unit <= 0x200a ||
    unit === 0x2028 || unit === 0x2029 || unit === 0x202f || unit === 0x205f || unit === 0x3000;
}

function numberOf(value: unknown, name: string, text: string): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string") throw wrongKind(text, "a number or text", value);
  const number = value.length > NUMBER_CHARS_MAX || value.trim() === "" ? NaN : Number(value);
  if (Number.isFinite(number)) return number;
  throw new Failure("wrong_number", `${name}(${shorten(text)}) is not a number`);
}

function stringOf(value: unknown, text: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw wrongKind(text, "text, a number, or true or false", value);
}
