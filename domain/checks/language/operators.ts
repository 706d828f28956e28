/**
 * Operators of two values.
 *
 * @module
 */
import { kindOf } from "./names.ts";
import {
  charge,
  CHARS_MADE_PER_STEP,
  CHARS_READ_PER_STEP,
  Failure,
  type Machine,
  PART_STEPS,
  shorten,
} from "./machine.ts";
import type { BinaryOperator } from "./term.ts";

/** Levels that two values are compared in depth. */
const LEVELS_MAX = 100;

/** Returns the result of an operator. */
export type Operator = (left: unknown, right: unknown, machine: Machine) => unknown;

/**
 * Returns an operator.
 *
 * @param text the part of the expression, for messages
 */
export function operatorOf(op: BinaryOperator, text: string): Operator {
  switch (op) {
    case "==":
      return (left, right, machine) => equals(left, right, machine, 0);
    case "!=":
      return (left, right, machine) => !equals(left, right, machine, 0);
    case "in":
      return (left, right, machine) => isIn(left, right, machine, text);
    case "+":
      return (left, right, machine) => sum(left, right, machine, text);
    case "-":
    case "*":
    case "/":
    case "%":
      return (left, right) => {
        if (typeof left === "number" && typeof right === "number") {
          return calculate(op, left, right, text);
        }
        throw wrongPair(op, left, right, text);
      };
    default:
      return (left, right, machine) => {
        if (typeof left === "number" && typeof right === "number") return compare(op, left, right);
        const isText = typeof left === "string" && typeof right === "string";
        if (!isText) throw wrongPair(op, left, right, text);
        charge(machine, Math.min(left.length, right.length) / CHARS_READ_PER_STEP);
        return compare(op, left, right);
      };
  }
}

function compare<Value extends string | number>(op: string, left: Value, right: Value): boolean {
  if (op === "<") return left < right;
  if (op === "<=") return left <= right;
  return op === ">" ? left > right : left >= right;
}

function calculate(op: string, left: number, right: number, text: string): number {
  if (op === "-") return left - right;
  if (op === "*") return left * right;
  if (right === 0) {
    throw new Failure("division_by_zero", `\`${shorten(text)}\` divides by zero`);
  }
  return op === "/" ? left / right : left % right;
}

function sum(left: unknown, right: unknown, machine: Machine, text: string): unknown {
  if (typeof left === "number" && typeof right === "number") return left + right;
  if (typeof left === "string" && typeof right === "string") {
    charge(machine, (left.length + right.length) / CHARS_MADE_PER_STEP);
    return left + right;
  }
  if (!Array.isArray(left) || !Array.isArray(right)) throw wrongPair("+", left, right, text);
  charge(machine, (left.length + right.length) * PART_STEPS);
  return [...left, ...right];
}

function isIn(left: unknown, right: unknown, machine: Machine, text: string): boolean {
  if (Array.isArray(right)) return right.some((item) => equals(left, item, machine, 0));
  if (isObject(right)) return typeof left === "string" && Object.hasOwn(right, left);
  throw wrongPair("in", left, right, text);
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

/** Returns whether a value is an object with fields, which a list is not. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrongPair(op: string, left: unknown, right: unknown, text: string): Failure {
  const message = `"${op}" in \`${shorten(text)}\` cannot take ${kindOf(left)} and ${
    kindOf(right)
  }`;
  return new Failure("wrong_type", message);
}
