/**
 * Patterns of `finds`: regular expressions whose work is bounded by the length of the text.
 *
 * @module
 */
import { RE2JS } from "re2js";
import { printable } from "../../core/text.ts";
import type { CompiledPattern, Pattern, Patterns } from "../program.ts";
import { Misuse } from "./misuse.ts";

/** Maximum instructions of a compiled pattern. */
export const PATTERN_SIZE_MAX = 2_000;

/**
 * Maximum bytes that a compiled pattern keeps of what it learned about texts. The library would keep
 * 8 MiB for each, and then work slower.
 */
const PATTERN_BYTES_MAX = 65_536;

/** Maximum classes such as `\p{L}`: the compiler takes up to 0.4 milliseconds for each. */
const UNICODE_CLASSES_MAX = 4;

/** Bytes of an instruction, roughly. */
const INSTRUCTION_BYTES = 400;

/** Instructions that begin and end each pattern. */
const FRAME_SIZE = 8;

/**
 * Reads a pattern.
 *
 * @param at position of the pattern in the expression, in UTF-16 units from 0
 * @throws Misuse
 */
export function patternOf(source: string, at: number): Pattern {
  if (!/[\\^$.|?*+()[\]{}]/.test(source)) {
    return { size: 0, source };
  }
  refuseSlowClasses(source, at);
  const size = sizeOf(source) + FRAME_SIZE;
  // Repeats of repeats would take the compiler longer than the service may pause.
  if (size > PATTERN_SIZE_MAX) throw tooLarge(at);
  return { size, source };
}

/** Refuses classes that the compiler would write out character by character. */
function refuseSlowClasses(source: string, at: number): void {
  if ((source.match(/\\[pP]/g)?.length ?? 0) > UNICODE_CLASSES_MAX) {
    const message = `The pattern has more than ${UNICODE_CLASSES_MAX} classes such as \\p{L}`;
    throw new Misuse(message, at, "Repeat one, such as \\p{L}+");
  }
  // deno-lint-ignore no-control-regex
  if (/\(\?[a-zA-Z]*i/.test(source) && /-(?:[^\x00-\x7f]|\\x\{)/.test(source)) {
    throw new Misuse("A range cannot end outside of ASCII with (?i)", at, "Write \\p{L}");
  }
}

/**
 * Compiles a pattern, to see whether it is one.
 *
 * @throws Misuse
 */
export function checkPattern(pattern: Pattern, at: number, patterns: Patterns): void {
  if (pattern.size === 0) return;
  try {
    if (patterns(pattern).programSize() > pattern.size) throw tooLarge(at);
  } catch (error) {
    if (error instanceof Misuse) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const words = printable(reason.replace(/^error parsing regexp: /, ""));
    const advice = "Look-around and back references are not available";
    throw new Misuse(`The pattern is wrong: ${words}`, at, advice);
  }
}

/** Returns whether a pattern needs not be compiled now. */
export function isCached(pattern: Pattern, patterns: Patterns): boolean {
  return pattern.size === 0 || patterns.has(pattern);
}

/** Returns whether a text has a match. */
export function matches(text: string, pattern: Pattern, patterns: Patterns): boolean {
  return pattern.size === 0 ? text.includes(pattern.source) : patterns(pattern).test(text);
}

/** Compiles a pattern; throws if it is none. */
export function compilePattern({ source }: Pattern): CompiledPattern {
  const compiled = RE2JS.compile(source);
  const { dfa } = compiled.re2();
  dfa.stateBudget = PATTERN_BYTES_MAX;
  dfa.memBudget = PATTERN_BYTES_MAX;
  return compiled;
}

/** Returns the bytes of a compiled pattern, at most. */
export function patternBytes(compiled: CompiledPattern): number {
  return PATTERN_BYTES_MAX + INSTRUCTION_BYTES * compiled.programSize();
}

function tooLarge(at: number): Misuse {
  const message = `The pattern has more than ${PATTERN_SIZE_MAX} steps`;
  return new Misuse(message, at, "Repeat less, such as x{1,100} or x+");
}

/**
 * Returns the size of a pattern with its repeats written out: at least that of the part that the
 * compiler repeats. It reads as many groups as the compiler, and no class for longer.
 */
function sizeOf(source: string): number {
  const groups: { size: number; last: number }[] = [{ size: 0, last: 0 }];
  const token =
    /\\Q[^]*?(?:\\E|$)|\\[xpP]\{[^}]*\}|\\[^]|\[\^?(?:\\[^]|[^\]\\])*\]?|\{(\d+)(,?)(\d*)\}|[^]/g;
  for (const [part, low, comma, high] of source.matchAll(token)) {
    const group = groups.at(-1);
    if (group === undefined) break;
    if (part === "(") groups.push({ size: 0, last: 0 });
    else if (part === ")") {
      const inner = groups.length > 1 ? groups.pop() : undefined;
      const outer = groups.at(-1);
      if (outer !== undefined && inner !== undefined) add(outer, inner.size + 2);
    } else if (low !== undefined) {
      const times = Math.max(Number(high || low) + (comma && !high ? 1 : 0), 1);
      // A time that may be left out has an instruction more.
      const optional = comma === "" ? 0 : Math.max(times - Number(low), 1);
      group.size += group.last * (times - 1) + optional;
      group.last = group.last * times + optional;
    } else if ("*+?|".includes(part)) group.size += 1;
    else add(group, part.startsWith("\\Q") ? part.length : 1);
  }
  return groups.reduce((sum, { size }) => sum + size, 0);
}

function add(group: { size: number; last: number }, size: number): void {
  group.size += size;
  group.last = size;
}
