/**
 * State of one evaluation, and the ways in which it ends early.
 *
 * @module
 */
import { type Facts, type Patterns, STEPS_MAX } from "../program.ts";
import { kindOf } from "./names.ts";

/** Steps of one part of an expression; a step is about 0.4 microseconds. */
export const PART_STEPS = 1 / 8;

/** Characters that are compared in one step. */
export const CHARS_READ_PER_STEP = 400;

/** Characters that are counted in one step. */
export const CHARS_COUNTED_PER_STEP = 20;

/** Characters that are written in one step: texts that an expression makes use memory. */
export const CHARS_MADE_PER_STEP = 8;

/** Characters that are converted one by one in one step. */
export const CHARS_CONVERTED_PER_STEP = 2;

/** Longest part of a text that the engine finds in time linear to the text. */
const LINEAR_SEARCH_MAX = 250;

/** Returns the steps to search for a part of a text, at worst. */
export function searchSteps(chars: number, partChars: number): number {
  if (chars === 0) return 1;
  // The engine looks at a character up to some 20 nanoseconds, and again and again for a long part.
  return 1 + (partChars <= LINEAR_SEARCH_MAX ? chars / 20 : chars * partChars / 800);
}

/** Steps of an item without a value, which a loop passes over. */
export const FAILURE_STEPS = 1 / 2;

/** Steps of one instruction of a pattern at one character. */
const PATTERN_STEPS = 0.1;

/** Reason why an expression has no value. It is thrown without a stack, which would cost too much. */
export class Failure {
  /** Code, such as `no_such_key`. */
  readonly reason: string;
  /** The error, in words. */
  readonly message: string;
  /** True if no `||` or `&&` can make up for it. */
  readonly isFinal: boolean;

  /** Creates a failure. */
  constructor(reason: string, message: string, isFinal = false) {
    this.reason = reason;
    this.message = message;
    this.isFinal = isFinal;
  }
}

/** State of one evaluation. */
export interface Machine {
  /** Values of the names. */
  readonly facts: Facts;
  /** Compiled patterns. */
  readonly patterns: Patterns;
  /** Items of the loops, from the outermost. */
  readonly items: unknown[];
  /** Steps that remain. */
  left: number;
}

/** Returns the value of a part of an expression, or throws a {@link Failure}. */
export type Code = (machine: Machine) => unknown;

const TOO_MUCH_WORK = new Failure(
  "too_much_work",
  `The expression takes more than ${STEPS_MAX} steps for this run`,
  true,
);

const TOO_MUCH_TEXT = new Failure(
  "too_much_text",
  "The text is too long for the pattern of `finds`",
  true,
);

/** Starts an evaluation. */
export function start(facts: Facts, patterns: Patterns): Machine {
  return { facts, patterns, items: [], left: STEPS_MAX };
}

/** Takes steps from those that remain. */
export function charge(machine: Machine, steps: number): void {
  machine.left -= steps;
  if (machine.left < 0) throw TOO_MUCH_WORK;
}

/** Returns the steps of a pattern of a size, at worst. */
export function patternSteps(chars: number, size: number): number {
  return 1 + chars * (size * PATTERN_STEPS + 1 / CHARS_COUNTED_PER_STEP);
}

/** Returns the steps to compile a pattern, which is done once for an evaluation, at most. */
export function compileSteps(size: number): number {
  return size === 0 ? 0 : 200 + size * 15;
}

/** Takes the steps of a pattern. */
export function chargePattern(machine: Machine, chars: number, size: number): void {
  machine.left -= patternSteps(chars, size);
  if (machine.left < 0) throw TOO_MUCH_TEXT;
}

/** Returns the failure of a value of the wrong kind. */
export function wrongKind(text: string, expected: string, value: unknown): Failure {
  const message = `\`${shorten(text)}\` must be ${expected}, it is ${kindOf(value)}`;
  return new Failure("wrong_type", message);
}

/** Returns a value that must be true or false. */
export function truth(value: unknown, text: string): boolean {
  if (typeof value === "boolean") return value;
  throw wrongKind(text, "true or false", value);
}

/** Shortens a part of an expression for a message. */
export function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 59).toWellFormed()}…` : line;
}
