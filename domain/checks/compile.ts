/**
 * Compiles expressions.
 *
 * @module
 */
import { type Parsed, refuse } from "../core/errors.ts";
import { GOT_CHARS_MAX } from "../runs/check_result.ts";
import { codeOf } from "./language/code.ts";
import { estimate } from "./language/estimate.ts";
import { cutVisibly, pathsOf, showGot } from "./language/got.ts";
import { countParts } from "./language/loops.ts";
import {
  charge,
  type Code,
  compileSteps,
  Failure,
  PART_STEPS,
  shorten,
  start,
} from "./language/machine.ts";
import { Misuse } from "./language/misuse.ts";
import { kindOf } from "./language/names.ts";
import { parse } from "./language/parse.ts";
import { checkPattern, isReady } from "./language/pattern.ts";
import { read } from "./language/read.ts";
import { assumed, FULL, measure, UNBOUNDED } from "./language/sizes.ts";
import { partsOf, type Term } from "./language/term.ts";
import { type FactName, type Facts, type Program, STEPS_MAX, type Verdict } from "./program.ts";

/**
 * Compiles an expression.
 *
 * @param isStored true if it was compiled before: its patterns wait until they are used
 * @returns `invalid_field` of `expression`, which says where it is wrong and what to write instead
 */
export function compile(expression: string, isStored = false): Parsed<Program> {
  try {
    return { ok: true, value: programOf(expression, isStored) };
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    const at = Array.from(expression.slice(0, error.at)).length + 1;
    const advice = error.advice === "" ? "" : `. ${error.advice}`;
    const message = `Field "expression" is wrong at character ${at}: ${error.message}${advice}`;
    return refuse("invalid_field", message, "expression");
  }
}

/** @throws Misuse */
function programOf(expression: string, isStored: boolean): Program {
  const term = read(parse(expression));
  const patterns = patternsOf(term);
  const compiling = patterns.reduce((sum, { pattern }) => sum + compileSteps(pattern.size), 0);
  if (estimate(term, assumed(FULL)) + compiling > STEPS_MAX) {
    const message = `It takes more than ${STEPS_MAX} steps for a run with 200 tool calls`;
    throw new Misuse(message, 0, "Nest no loops, or split it into several checks");
  }
  if (!isStored) { for (const { pattern, at } of patterns) checkPattern(pattern, at); }
  const [code, paths, names] = [codeOf(term), pathsOf(term), new Set<FactName>()];
  addNames(term, names);
  const ceiling = estimate(term, assumed(UNBOUNDED));
  const steps = countParts(term) * PART_STEPS + compiling;
  const expected = cutVisibly(`Expected ${expression.trim().replace(/\s+/g, " ")}`, GOT_CHARS_MAX);
  return {
    names,
    bytes: bytesOf(term) + 4 * expression.length,
    stepsFor: (facts) => {
      const bound = ceiling <= STEPS_MAX ? ceiling : estimate(term, measure(facts));
      // A judgement counts the compiler's steps always, so that its result never depends on the past.
      const waiting = patterns.every(({ pattern }) => isReady(pattern)) ? 0 : compiling;
      return Math.ceil(Math.min(bound + waiting, STEPS_MAX));
    },
    judge: (facts) => {
      const got = showGot(paths, facts);
      return { got, ...outcome(code, steps, facts, term.text, expected) };
    },
  };
}

function outcome(
  code: Code,
  steps: number,
  facts: Facts,
  text: string,
  expected: string,
): Omit<Verdict, "got"> {
  try {
    const machine = start(facts);
    charge(machine, steps);
    const value = code(machine);
    if (value === true) return { status: "pass", message: null };
    if (value === false) return { status: "fail", message: expected };
    const message = `\`${shorten(text)}\` must be true or false, it is ${kindOf(value)}`;
    return { status: "error", message, reason: "wrong_type" };
  } catch (error) {
    // Anything else would be a bug or a full stack; a check that cannot be decided never passes.
    const { reason, message } = error instanceof Failure
      ? error
      : { reason: "undecided", message: "The expression could not be evaluated" };
    return { status: "error", message: cutVisibly(message, GOT_CHARS_MAX), reason };
  }
}

function addNames(term: Term, names: Set<FactName>): void {
  if (term.kind === "fact") names.add(term.name);
  for (const part of partsOf(term)) addNames(part, names);
}

/** Bytes of a part of an expression, roughly. */
const PART_BYTES = 400;

/** Returns the bytes that a term takes in memory, roughly. */
function bytesOf(term: Term): number {
  return partsOf(term).reduce((sum, part) => sum + bytesOf(part), PART_BYTES);
}

/** Returns the calls of `finds` in a term. */
function patternsOf(term: Term): Extract<Term, { readonly kind: "finds" }>[] {
  const inner = partsOf(term).flatMap(patternsOf);
  return term.kind === "finds" ? [...inner, term] : inner;
}
