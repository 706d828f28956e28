/**
 * Functions of values.
 *
 * @module
 */
import {
  charge,
  CHARS_COUNTED_PER_STEP,
  CHARS_MADE_PER_STEP,
  CHARS_READ_PER_STEP,
  type Code,
  Failure,
  type Machine,
  PART_STEPS,
  searchSteps,
  shorten,
  wrongKind,
} from "./machine.ts";
import type { FunctionName } from "./term.ts";

/** Maximum characters of a text that is read as a number. */
const NUMBER_CHARS_MAX = 40;

/**
 * Returns the code of a call.
 *
 * @param text the part of the expression that gives the first value, for messages
 * @param partText the same for the second value
 */
export function callCode(
  name: FunctionName,
  [first, second]: readonly Code[],
  text: string,
  partText: string,
): Code {
  const of = first ?? (() => null);
  const other = second ?? (() => null);
  switch (name) {
    case "size":
      return (machine) => size(of(machine), machine, text);
    case "words":
      return (machine) => countWords(countedText(of(machine), machine, text));
    case "int":
      return (machine) => Math.trunc(numberOf(of(machine), name, text));
    case "double":
      return (machine) => numberOf(of(machine), name, text);
    case "string":
      return (machine) => stringOf(of(machine), text);
    case "lowerAscii":
      return (machine) => madeText(of(machine), machine, text).replace(/[A-Z]+/g, toLower);
    case "upperAscii":
      return (machine) => madeText(of(machine), machine, text).replace(/[a-z]+/g, toUpper);
    default:
      return (machine) => {
        const whole = readText(of(machine), machine, text);
        const part = readText(other(machine), machine, partText);
        if (name === "contains") {
          charge(machine, searchSteps(whole.length, part.length));
          return whole.includes(part);
        }
        return name === "startsWith" ? whole.startsWith(part) : whole.endsWith(part);
      };
  }
}

/** Returns a value that must be a text, and takes the steps to read it. */
export function readText(value: unknown, machine: Machine, text: string): string {
  if (typeof value !== "string") throw wrongKind(text, "text", value);
  charge(machine, 1 + value.length / CHARS_READ_PER_STEP);
  return value;
}

function countedText(value: unknown, machine: Machine, text: string): string {
  if (typeof value !== "string") throw wrongKind(text, "text", value);
  charge(machine, 1 + value.length / CHARS_COUNTED_PER_STEP);
  return value;
}

function madeText(value: unknown, machine: Machine, text: string): string {
  if (typeof value !== "string") throw wrongKind(text, "text", value);
  charge(machine, 1 + value.length / CHARS_MADE_PER_STEP);
  return value;
}

const toLower = (part: string) => part.toLowerCase();
const toUpper = (part: string) => part.toUpperCase();

function size(value: unknown, machine: Machine, text: string): number {
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
