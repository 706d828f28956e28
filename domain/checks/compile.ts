/**
 * Compiles expressions.
 *
 * @module
 */
import type { ObjectKind } from "../config/objects.ts";
import { refuse, unlessRefused } from "../core/errors.ts";
import { GOT_CHARS_MAX } from "../runs/check_result.ts";
import { cutVisibly, pathsOf, showGot } from "./language/got.ts";
import {
  charge,
  type Code,
  compileSteps,
  Failure,
  type Machine,
  PART_STEPS,
  shorten,
  start,
} from "./language/machine.ts";
import { Misuse } from "./language/misuse.ts";
import { kindOf } from "./language/names.ts";
import { parse } from "./language/parse.ts";
import { checkPattern, isCached } from "./language/pattern.ts";
import { type FactName, type Patterns, type Program, STEPS_MAX, type Verdict } from "./program.ts";
import { read } from "./language/read.ts";
import { assumed, FULL, UNBOUNDED } from "./language/sizes.ts";
import type { Term, TermOf } from "./language/term.ts";
import { codeOf, countParts, estimate } from "./language/walk.ts";
import { type Check, CHECKS, type CheckSettings, type CompiledCheck } from "./check.ts";

/**
 * Compiles an expression.
 *
 * @param patterns compiled patterns
 * @param isStored true if it was compiled before: its patterns wait until they are used
 * @throws {Refused} `invalid_field` of `expression`, which says where it is wrong and what to write
 */
export function compile(
  expression: string,
  patterns: Patterns,
  isStored = false,
): Program {
  try {
    return programOf(expression, patterns, isStored);
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    const at = Array.from(expression.slice(0, error.at)).length + 1;
    const advice = error.advice === "" ? "" : `. ${error.advice}`;
    const message = `Field "expression" is wrong at character ${at}: ${error.message}${advice}`;
    return refuse("invalid_field", message, "expression");
  }
}

/** @throws Misuse */
function programOf(expression: string, patterns: Patterns, isStored: boolean): Program {
  const term = read(parse(expression));
  const finds = patternsOf(term);
  const compiling = finds.reduce((sum, { pattern }) => sum + compileSteps(pattern.size), 0);
  if (estimate(term, assumed(FULL)) + compiling > STEPS_MAX) {
    const message = `It takes more than ${STEPS_MAX} steps for a run with 200 tool calls`;
    throw new Misuse(message, 0, "Nest no loops, or split it into several checks");
  }
  if (!isStored) { for (const { pattern, at } of finds) checkPattern(pattern, at, patterns); }
  const [code, paths, names] = [codeOf(term), pathsOf(term), new Set<FactName>()];
  addNames(term, names);
  const ceiling = estimate(term, assumed(UNBOUNDED));
  const steps = countParts(term) * PART_STEPS + compiling;
  const expected = cutVisibly(`Expected ${expression.trim().replace(/\s+/g, " ")}`, GOT_CHARS_MAX);
  return {
    names,
    bytes: bytesOf(term) + 4 * expression.length,
    stepsFor: (sizes) => {
      const bound = ceiling <= STEPS_MAX ? ceiling : estimate(term, sizes);
      // A judgement counts the compiler's steps always, so that its result never depends on the past.
      const waiting = finds.every(({ pattern }) => isCached(pattern, patterns)) ? 0 : compiling;
      return Math.ceil(Math.min(bound + waiting, STEPS_MAX));
    },
    judge: (facts) => {
      const got = showGot(paths, facts);
      return { got, ...outcome(start(facts, patterns), code, steps, term.text, expected) };
    },
  };
}

function outcome(
  machine: Machine,
  code: Code,
  steps: number,
  text: string,
  expected: string,
): Omit<Verdict, "got"> {
  try {
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
  for (const part of term.parts) addNames(part, names);
}

/** Bytes of a part of an expression, roughly. */
const PART_BYTES = 400;

/** Returns the bytes that a term takes in memory, roughly. */
function bytesOf(term: Term): number {
  return term.parts.reduce((sum, part) => sum + bytesOf(part), PART_BYTES);
}

/** Returns the calls of `finds` in a term. */
function patternsOf(term: Term): TermOf<"finds">[] {
  const inner = term.parts.flatMap(patternsOf);
  return term.kind === "finds" ? [...inner, term] : inner;
}

/**
 * Compiles a stored check. One whose expression this version cannot compile judges each run as an
 * `error` with the reason `does_not_compile`: it never stops the runs of its team.
 */
export function compiledCheck(check: Check, patterns: Patterns): CompiledCheck {
  const program = unlessRefused(
    () => compile(check.settings.expression, patterns, true),
    ({ message }) => failing(message),
  );
  return { ...check, id: check.id ?? "", program };
}

function failing(message: string): Program {
  return {
    names: new Set(),
    bytes: 0,
    stepsFor: () => 1,
    judge: () => ({ status: "error", got: "", message, reason: "does_not_compile" }),
  };
}

/** Returns the kind of objects whose store refuses an expression that does not compile. */
export function compilingChecks(patterns: Patterns): ObjectKind<CheckSettings> {
  return {
    ...CHECKS,
    complete({ sent }) {
      compile(sent.expression, patterns);
      return { settings: sent };
    },
  };
}
