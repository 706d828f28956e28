/**
 * Patterns of `finds`: regular expressions whose work is bounded by the length of the text.
 *
 * @module
 */
import { RE2JS } from "re2js";
import { printable } from "../../core/text.ts";
import { Misuse } from "./misuse.ts";

/** Maximum instructions of a compiled pattern. */
export const PATTERN_SIZE_MAX = 2_000;

/**
 * Maximum bytes that a compiled pattern keeps of what it learned about texts. The library would keep
 * 8 MiB for each, and then work slower.
 */
const PATTERN_BYTES_MAX = 65_536;

/** A compiled pattern. */
export interface Pattern {
  /** Instructions; 0 for a plain text, which is searched as `contains` does. */
  readonly size: number;
  /** Its text. */
  readonly source: string;
  /** Returns whether a text has a match. */
  test(text: string): boolean;
}

/**
 * Compiles a pattern.
 *
 * @param at position of the pattern in the expression, in UTF-16 units from 0
 * @throws Misuse
 */
export function patternOf(source: string, at: number): Pattern {
  if (!/[\\^$.|?*+()[\]{}]/.test(source)) {
    return { size: 0, source, test: (text) => text.includes(source) };
  }
  // Repeats of repeats would take the compiler longer than the service may pause.
  if (sizeOf(source) > PATTERN_SIZE_MAX) throw tooLarge(at);
  const compiled = compile(source, at);
  const size = compiled.programSize();
  if (size > PATTERN_SIZE_MAX) throw tooLarge(at);
  const { dfa } = compiled.re2();
  dfa.stateBudget = PATTERN_BYTES_MAX;
  dfa.memBudget = PATTERN_BYTES_MAX;
  return { size, source, test: (text) => compiled.test(text) };
}

function compile(source: string, at: number): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const words = printable(reason.replace(/^error parsing regexp: /, ""));
    const advice = "Look-around and back references are not available";
    throw new Misuse(`The pattern is wrong: ${words}`, at, advice);
  }
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
      // A repeat that may be left out has an instruction more for each time.
      group.size += group.last * (times - 1) + times;
      group.last = group.last * times + times;
    } else if ("*+?|".includes(part)) group.size += 1;
    else add(group, part.startsWith("\\Q") ? part.length : 1);
  }
  return groups.reduce((sum, { size }) => sum + size, 0);
}

function add(group: { size: number; last: number }, size: number): void {
  group.size += size;
  group.last = size;
}
