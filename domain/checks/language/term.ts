/**
 * The tree of an expression: what remains of the parser's tree once it is checked.
 *
 * @module
 */
import type { FactName, Pattern } from "../program.ts";

/** Operators of two values. */
export const BINARY = ["==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%"] as const;

/** One of {@link BINARY}. */
export type BinaryOperator = typeof BINARY[number];

/** Functions of values, with the number of values; a receiver is the first. */
export const FUNCTIONS = {
  size: 1,
  words: 1,
  int: 1,
  double: 1,
  string: 1,
  lowerAscii: 1,
  upperAscii: 1,
  contains: 2,
  startsWith: 2,
  endsWith: 2,
} as const;

/** One of {@link FUNCTIONS}. */
export type FunctionName = keyof typeof FUNCTIONS;

/** Loops over the items of a list, or over the keys of an object. */
export const LOOPS = ["all", "exists", "exists_one", "map", "filter"] as const;

/** One of {@link LOOPS}. */
export type LoopName = typeof LOOPS[number];

/** A value that is written in the expression. */
export type Literal = string | number | boolean | null;

/** A part of an expression, and its text for messages. */
export type Term = { readonly text: string } & TermKind;

/** A part of an expression by its kind. */
export type TermKind =
  | { readonly kind: "value"; readonly value: Literal }
  | { readonly kind: "fact"; readonly name: FactName }
  /** The variable of a loop, by the depth of the loop. */
  | { readonly kind: "item"; readonly slot: number }
  | {
    readonly kind: "field";
    readonly of: Term;
    readonly key: string;
    /** True if its type is text or a number; null then means that its value is unknown. */
    readonly isScalar: boolean;
  }
  | { readonly kind: "index"; readonly of: Term; readonly at: Term }
  | { readonly kind: "has"; readonly of: Term; readonly key: string; readonly isScalar: boolean }
  | { readonly kind: "not" | "minus"; readonly of: Term }
  | { readonly kind: "and" | "or"; readonly left: Term; readonly right: Term }
  | { readonly kind: "choose"; readonly test: Term; readonly left: Term; readonly right: Term }
  | {
    readonly kind: "binary";
    readonly op: BinaryOperator;
    readonly left: Term;
    readonly right: Term;
  }
  | { readonly kind: "call"; readonly name: FunctionName; readonly of: readonly Term[] }
  | { readonly kind: "finds"; readonly of: Term; readonly pattern: Pattern; readonly at: number }
  | { readonly kind: "list"; readonly items: readonly Term[] }
  | { readonly kind: "map"; readonly entries: readonly (readonly [Term, Term])[] }
  | {
    readonly kind: "loop";
    readonly name: LoopName;
    readonly over: Term;
    readonly slot: number;
    /** Which items: null for each. */
    readonly test: Term | null;
    /** The value that `map` returns for an item; null for other loops. */
    readonly result: Term | null;
  };

/** A loop. */
export type Loop = Extract<Term, { readonly kind: "loop" }>;

/** Returns the parts that a term consists of, in the order of evaluation. */
export function partsOf(term: Term): readonly Term[] {
  switch (term.kind) {
    case "value":
    case "fact":
    case "item":
      return [];
    case "field":
    case "has":
    case "not":
    case "minus":
    case "finds":
      return [term.of];
    case "index":
      return [term.of, term.at];
    case "and":
    case "or":
    case "binary":
      return [term.left, term.right];
    case "choose":
      return [term.test, term.left, term.right];
    case "call":
      return term.of;
    case "list":
      return term.items;
    case "map":
      return term.entries.flat();
    case "loop":
      return [term.over, term.test, term.result].filter((part) => part !== null);
  }
}
