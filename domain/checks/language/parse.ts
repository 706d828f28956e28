/**
 * Parses expressions and checks their types, by the library for CEL.
 *
 * The library evaluates nothing here: it has no budget, and it keeps a type for each shape of value
 * that it meets. `code.ts` evaluates instead.
 *
 * @module
 */
import { Environment } from "@marcbachmann/cel-js";
import { nearestName } from "../../core/query.ts";
import { printable } from "../../core/text.ts";
import { EXPRESSION_CHARS_MAX } from "../check.ts";
import { Misuse } from "./misuse.ts";
import { FIELDS, typeInWords } from "./names.ts";
import { FACT_TYPES } from "../program.ts";
import { reservedWord, wrongSyntax } from "./syntax.ts";
import { FUNCTIONS } from "./operations.ts";
import { LOOPS } from "./term.ts";

/** Maximum parts of an expression, and how deep they nest. */
export const EXPRESSION_LIMITS = { nodesMax: 200, depthMax: 16 } as const;

/** A node of the library's tree. */
export interface SourceNode {
  /** Operator, or kind of node. */
  readonly op: string;
  /** The value that it works on. */
  readonly args: unknown;
  /** Position in the expression, in UTF-16 units from 0. */
  readonly start: number;
}

const NUMBERS = ["int", "double"];

const environment = createEnvironment();

function createEnvironment(): Environment {
  const { nodesMax, depthMax } = EXPRESSION_LIMITS;
  const created = new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: nodesMax, maxDepth: depthMax },
  });
  for (const [name, fields] of Object.entries(FIELDS)) created.registerType(name, { fields });
  for (const [name, type] of Object.entries(FACT_TYPES)) created.registerVariable(name, type);
  const unused = () => {
    throw new TypeError("The library checks types only");
  };
  created.registerFunction("finds(string, string): bool", unused);
  created.registerFunction("words(string): int", unused);
  // Numbers are of one kind: a whole number that is written in an expression may meet any other.
  for (const [left, right] of [NUMBERS, NUMBERS.toReversed()]) {
    for (const op of ["+", "-", "*", "/", "%"]) {
      created.registerOperator(`${left} ${op} ${right}: double`, unused);
    }
    created.registerOperator(`${left} in list<${right}>: bool`, unused);
  }
  created.registerOperator("double % double: double", unused);
  created.registerOperator("double == int", unused);
  return created;
}

/**
 * Returns the tree of an expression whose types are right.
 *
 * @throws Misuse
 */
export function parse(expression: string): SourceNode {
  const chars = Array.from(expression).length;
  if (chars > EXPRESSION_CHARS_MAX) {
    const message = `It has ${chars} characters, and ${EXPRESSION_CHARS_MAX} are allowed`;
    throw new Misuse(message, 0, "Split it into several checks");
  }
  if (expression.trim() === "") throw new Misuse("It is empty", 0, "Write cost_usd < 0.5");
  try {
    const parsed = environment.parse(expression);
    const { error, type } = parsed.check();
    if (error !== undefined) throw error;
    if (type !== "bool" && type !== "dyn") {
      const message = `It must be true or false, it is ${typeInWords(type ?? "")}`;
      throw new Misuse(message, 0, COMPARE);
    }
    return parsed.ast;
  } catch (error) {
    if (error instanceof Misuse) throw error;
    throw misuseOf(error as LibraryError, expression);
  }
}

/** Errors of the library; its types lack the place of some. */
interface LibraryError extends Error {
  readonly code?: string;
  readonly summary?: string;
  readonly node?: { readonly op?: string; readonly args?: unknown; readonly start?: number };
  readonly range?: { readonly start: number };
}

function misuseOf({ code, summary, message, node, range }: LibraryError, text: string): Misuse {
  const at = range?.start ?? 0;
  const words = printable(summary ?? message);
  const args = node?.args as readonly unknown[];
  switch (code) {
    case "unknown_variable":
      return unknownName(String(node?.args), at);
    case "no_such_key":
      return unknownField(typeOf(args[0]), keyOf(args[1]), at);
    case "no_matching_overload":
      return wrongCall(node?.op === "rcall", args, words, at);
    case "no_such_overload":
    case "incompatible_ternary_branches":
      return wrongTypes(words, at);
    case "invalid_logical_operand":
      return new Misuse(`"&&" and "||" cannot take ${typeInWords(lastType(words))}`, at, COMPARE);
    case "invalid_macro_argument":
      return /^has\b/.test(words)
        ? new Misuse(HAS, at, HAS_FORM)
        : new Misuse("A loop begins with the name of its item", at, `Write ${FORMS["map"]}`);
    case "unexpected_character":
    case "unexpected_token":
    case "expected_token":
      return wrongSyntax(words, at, text);
    case "reserved_identifier":
      return reservedWord(at, text);
    case "limit_exceeded":
      return new Misuse(limitInWords(words), at, "Split it into several checks");
    case "invalid_escape_sequence":
      return new Misuse(words, at, "Write a pattern as r'…', or each backslash twice");
    case "unterminated_string":
      return new Misuse("A text has no end", at, "Close it with the same quote");
    default:
      return new Misuse(inWords(words), at);
  }
}

const HAS = "has() takes names and fields only";
const HAS_FORM = "Write has(output.answer)";
const COMPARE = "Compare it, such as usage.errors == 0";

function lastType(words: string): string {
  return /'([^']*)'$/.exec(words)?.[1] ?? "";
}

function unknownName(name: string, at: number): Misuse {
  const known = Object.keys(FACT_TYPES);
  return new Misuse(`Unknown name "${printable(name)}"`, at, hint(name, known));
}

function typeOf(node: unknown): string {
  return (node as { checkedType?: { name: string } }).checkedType?.name ?? "";
}

function keyOf(key: unknown): string {
  return typeof key === "string" ? key : String((key as { args?: unknown }).args);
}

/** Returns the refusal of a field that a type lacks. */
export function unknownField(type: string, field: string, at: number): Misuse {
  const known = Object.keys(FIELDS[type] ?? {});
  return new Misuse(`Unknown field "${printable(field)}"`, at, hint(field, known));
}

function hint(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return `${nearest === null ? "" : `Did you mean "${nearest}"? `}Known: ${known.join(", ")}`;
}

function wrongCall(isMethod: boolean, args: readonly unknown[], words: string, at: number): Misuse {
  const name = String(args[0]);
  if (name === "has") return new Misuse(HAS, at, HAS_FORM);
  const isKnown = FUNCTIONS.includes(name) || (LOOPS as readonly string[]).includes(name);
  if (name !== "finds" && !isKnown) return unknownFunction(name, at);
  const form = FORMS[name] ?? `items.${name}(item, item == 1)`;
  const types = /\((.*)\)'$/.exec(words)?.[1] ?? "";
  const given = types === "" || isMethod ? "" : `, not ${typeInWords(types)}`;
  return new Misuse(`"${name}" cannot be used like this`, at, `Write ${form}${given}`);
}

const FORMS: Readonly<Record<string, string>> = {
  finds: "finds(text, pattern)",
  size: "size(text or list)",
  words: "words(text)",
  int: "int(number or text)",
  double: "double(number or text)",
  string: "string(number or text)",
  lowerAscii: "text.lowerAscii()",
  upperAscii: "text.upperAscii()",
  contains: "text.contains(part)",
  startsWith: "text.startsWith(part)",
  endsWith: "text.endsWith(part)",
  map: "items.map(item, item.name)",
};

/** Returns the refusal of a function that does not exist, or that is not allowed. */
export function unknownFunction(name: string, at: number): Misuse {
  const message = `Unknown function "${printable(name)}"`;
  if (name === "matches") return new Misuse(message, at, "Write finds(text, pattern)");
  return new Misuse(message, at, hint(name, ["finds", "has", ...FUNCTIONS, ...LOOPS]));
}

function wrongTypes(words: string, at: number): Misuse {
  const [, sign, only] = /^no such overload: ([!-])([^ ,]+(?:, .+)?)$/.exec(words) ?? [];
  if (only !== undefined) return new Misuse(`"${sign}" cannot take ${typeInWords(only)}`, at);
  const pair = /^no such overload: (.+) (==|!=|[<>]=?|in|[-+*\/%]) (.+)$/.exec(words);
  if (pair === null) return new Misuse(inWords(words), at);
  const [, left = "", op = "", right = ""] = pair;
  const message = `"${op}" cannot take ${typeInWords(left)} and ${typeInWords(right)}`;
  return new Misuse(message, at, pairAdvice(op, typeInWords(left), typeInWords(right)));
}

function pairAdvice(op: string, left: string, right: string): string {
  if (op !== "in") return left === right ? "Compare their fields" : "Write both of one type";
  return right === "text"
    ? 'Write a list, such as status in ["success", "failed"], or text.contains(part)'
    : "Write it of one type";
}

function limitInWords(words: string): string {
  const { nodesMax, depthMax } = EXPRESSION_LIMITS;
  return words.includes("maxDepth")
    ? `It nests deeper than ${depthMax} levels`
    : `It has more than ${nodesMax} parts`;
}

function inWords(words: string): string {
  const types = /'((?:dyn<)?(?:string|int|double|bool|null|(?:list|map)<.*>|[A-Z]\w+)>?)'/g;
  return words.replace(types, (_, type: string) => typeInWords(type));
}
