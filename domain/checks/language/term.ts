/**
 * The tree of an expression: what remains of the parser's tree once it is checked.
 *
 * @module
 */
import type { FactName, Pattern } from "../program.ts";
import type { OperationName } from "./operations.ts";

/** Loops over the items of a list, or over the keys of an object. */
export const LOOPS = ["all", "exists", "exists_one", "map", "filter"] as const;

/** One of {@link LOOPS}. */
export type LoopName = typeof LOOPS[number];

/** A value that is written in the expression. */
export type Literal = string | number | boolean | null;

/** A part of an expression. */
export type Term = {
  /** Its text, for messages. */
  readonly text: string;
  /** The parts that it consists of, in the order of evaluation. */
  readonly parts: readonly Term[];
} & TermKind;

/** A part of an expression by its kind. */
export type TermKind =
  | { readonly kind: "value"; readonly value: Literal }
  | { readonly kind: "fact"; readonly name: FactName }
  /** The variable of a loop, by the depth of the loop. */
  | { readonly kind: "item"; readonly slot: number }
  | {
    readonly kind: "field" | "has";
    readonly key: string;
    /** True if its type is text or a number; null then means that its value is unknown. */
    readonly isScalar: boolean;
  }
  | { readonly kind: "finds"; readonly pattern: Pattern; readonly at: number }
  | { readonly kind: "operation"; readonly name: OperationName }
  /** An object has a key before each value. */
  | { readonly kind: "&&" | "||" | "?:" | "list" | "object" }
  | {
    readonly kind: "loop";
    readonly name: LoopName;
    readonly slot: number;
    /** True if its items are tested; the test is its second part. */
    readonly isTested: boolean;
    /** True if it returns a value for each item; that is its last part. */
    readonly isMapped: boolean;
  };

/** A part of one kind. */
export type TermOf<Kind extends Term["kind"]> = Extract<Term, { readonly kind: Kind }>;
