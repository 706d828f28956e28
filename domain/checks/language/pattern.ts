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

/** Maximum bytes of compiled patterns that are kept; the others are compiled again when they are used. */
const KEPT_BYTES_MAX = 8_388_608;

/** Maximum classes such as `\p{L}`: the compiler takes up to 0.4 milliseconds for each. */
const UNICODE_CLASSES_MAX = 4;

/** Bytes of an instruction, roughly. */
const INSTRUCTION_BYTES = 400;

/** Instructions that begin and end each pattern. */
const FRAME_SIZE = 8;

/** A pattern. It is compiled when it is first used. */
export interface Pattern {
  /** Instructions, at most; 0 for a plain text, which is searched as `contains` does. */
  readonly size: number;
  /** Its text. */
  readonly source: string;
  /** Returns whether a text has a match. */
  test(text: string): boolean;
}

/**
 * Reads a pattern.
 *
 * @param at position of the pattern in the expression, in UTF-16 units from 0
 * @throws Misuse
 */
export function patternOf(source: string, at: number): Pattern {
  if (!/[\\^$.|?*+()[\]{}]/.test(source)) {
    return { size: 0, source, test: (text) => text.includes(source) };
  }
  refuseSlowClasses(source, at);
  const size = sizeOf(source) + FRAME_SIZE;
  // Repeats of repeats would take the compiler longer than the service may pause.
  if (size > PATTERN_SIZE_MAX) throw tooLarge(at);
  return { size, source, test: (text) => compiledOf(source, size).test(text) };
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
export function checkPattern({ source, size }: Pattern, at: number): void {
  if (size === 0) return;
  try {
    if (compiledOf(source, size).programSize() > size) throw tooLarge(at);
  } catch (error) {
    if (error instanceof Misuse) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const words = printable(reason.replace(/^error parsing regexp: /, ""));
    const advice = "Look-around and back references are not available";
    throw new Misuse(`The pattern is wrong: ${words}`, at, advice);
  }
}

/** Returns whether a pattern needs not be compiled now. */
export function isReady({ source, size }: Pattern): boolean {
  return size === 0 || kept.has(source);
}

/** Compiled patterns, the latest used last. All teams share them: they hold nothing of texts or runs. */
const kept = new Map<string, { readonly compiled: RE2JS; readonly bytes: number }>();
let keptBytes = 0;

function compiledOf(source: string, size: number): RE2JS {
  const known = kept.get(source);
  if (known !== undefined) {
    kept.delete(source);
    kept.set(source, known);
    return known.compiled;
  }
  const compiled = RE2JS.compile(source);
  const { dfa } = compiled.re2();
  dfa.stateBudget = PATTERN_BYTES_MAX;
  dfa.memBudget = PATTERN_BYTES_MAX;
  const bytes = PATTERN_BYTES_MAX + INSTRUCTION_BYTES * size;
  kept.set(source, { compiled, bytes });
  keptBytes += bytes;
  for (const [oldest, { bytes }] of kept) {
    if (keptBytes <= KEPT_BYTES_MAX) break;
    kept.delete(oldest);
    keptBytes -= bytes;
  }
  return compiled;
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
