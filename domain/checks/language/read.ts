/**
 * Reads the library's tree, and refuses what is not on the list of what an expression may use.
 *
 * @module
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { FactName } from "../program.ts";
import { Misuse } from "./misuse.ts";
import { FACT_TYPES, FIELD_TYPES } from "./names.ts";
import { type SourceNode, unknownField, unknownFunction } from "./parse.ts";
import { patternOf } from "./pattern.ts";
import {
  BINARY,
  type BinaryOperator,
  type FunctionName,
  FUNCTIONS,
  type Literal,
  type LoopName,
  LOOPS,
  type Term,
} from "./term.ts";

/** Maximum loops inside one another. */
export const LOOPS_NESTED_MAX = 2;

/** Maximum lists and objects inside one another that an expression writes. */
const LITERALS_NESTED_MAX = 3;

/** Types without fields, whose null means that a value is unknown. */
const SCALARS = ["string", "double", "int"];

/** A node of the library's tree, with the type that its check left. */
type Node = ASTNode & { readonly checkedType?: { readonly name: string } };

/** Where a node is: variables of the loops around it, and the lists and objects written around it. */
interface Place {
  readonly variables: readonly string[];
  readonly literals: number;
}

/**
 * Returns the tree of an expression.
 *
 * @param root the library's tree, whose types are checked
 * @throws Misuse
 */
export function read(root: SourceNode): Term {
  return termOf(root as Node, { variables: [], literals: 0 });
}

function termOf(node: Node, place: Place): Term {
  const text = node.input.slice(node.start, node.end);
  switch (node.op) {
    case "value":
      return { text, kind: "value", value: literalOf(node.args, node.start) };
    case "id":
      return { text, ...nameOf(node.args, node.start, place) };
    case ".":
      return { text, kind: "field", ...fieldOf(node, place) };
    case "[]":
      return indexOf(node, text, place);
    case "!_":
    case "-_":
      return { text, kind: node.op === "!_" ? "not" : "minus", of: termOf(node.args, place) };
    case "&&":
    case "||":
      return { text, kind: node.op === "&&" ? "and" : "or", ...pairOf(node.args, place) };
    case "?:": {
      const [test, left, right] = node.args;
      return { text, kind: "choose", test: termOf(test, place), ...pairOf([left, right], place) };
    }
    case "list": {
      const items = node.args.map((item) => termOf(item, deeper(node, place)));
      return { text, kind: "list", items };
    }
    case "map": {
      const inner = deeper(node, place);
      const entries = node.args.map(([key, value]) => [keyOf(key), termOf(value, inner)] as const);
      return { text, kind: "map", entries };
    }
    case "call":
    case "rcall":
      return callOf(node, text, place);
  }
  if (!(BINARY as readonly string[]).includes(node.op)) {
    throw new Misuse(`"${node.op}" is not allowed`, node.start);
  }
  const sides = pairOf(node.args as readonly [Node, Node], place);
  return { text, kind: "binary", op: node.op as BinaryOperator, ...sides };
}

function pairOf([left, right]: readonly [Node, Node], place: Place): { left: Term; right: Term } {
  return { left: termOf(left, place), right: termOf(right, place) };
}

function literalOf(value: unknown, at: number): Literal {
  if (typeof value === "bigint") {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw new Misuse(`The number ${value} is too large`, at, "Write it with a decimal point");
  }
  if (value === null || ["string", "number", "boolean"].includes(typeof value)) {
    return value as Literal;
  }
  throw new Misuse("Bytes and unsigned numbers are not allowed", at, "Write plain text or numbers");
}

function nameOf(
  name: string,
  at: number,
  { variables }: Place,
): { kind: "item"; slot: number } | { kind: "fact"; name: FactName } {
  const slot = variables.lastIndexOf(name);
  if (slot >= 0) return { kind: "item", slot };
  if (Object.hasOwn(FACT_TYPES, name)) return { kind: "fact", name: name as FactName };
  throw new Misuse(`"${name}" is a type, not a value`, at);
}

function fieldOf(node: Node & { readonly op: "." }, place: Place) {
  const [owner, key] = node.args;
  return { of: termOf(owner, place), key, isScalar: isScalar(node) };
}

function indexOf(node: Node & { readonly op: "[]" }, text: string, place: Place): Term {
  const [owner, at] = node.args;
  const of = termOf(owner, place);
  if (at.op === "value" && typeof at.args === "string") {
    return { text, kind: "field", of, key: at.args, isScalar: isScalar(node) };
  }
  return { text, kind: "index", of, at: termOf(at, place) };
}

function isScalar({ checkedType }: Node): boolean {
  return checkedType !== undefined && SCALARS.includes(checkedType.name);
}

/**
 * Returns the type of a path of fields. The library does not check those inside of `has`.
 *
 * @throws Misuse if a field does not exist
 */
function typeIn(node: Node): string {
  if (node.op !== ".") return node.checkedType?.name ?? "dyn";
  const [owner, key] = node.args;
  const type = typeIn(owner);
  if (SCALARS.includes(type)) {
    throw new Misuse(`"${owner.input.slice(owner.start, owner.end)}" has no fields`, node.start);
  }
  const fields = FIELD_TYPES[type];
  if (fields === undefined) return "dyn";
  if (!Object.hasOwn(fields, key)) throw unknownField(type, key, node.pos);
  return fields[key] ?? "dyn";
}

function deeper({ start }: Node, { variables, literals }: Place): Place {
  if (literals < LITERALS_NESTED_MAX) return { variables, literals: literals + 1 };
  throw new Misuse(`Lists and objects nest deeper than ${LITERALS_NESTED_MAX} levels`, start);
}

function keyOf(node: Node): Term {
  if (node.op === "value" && typeof node.args === "string") {
    return { text: "", kind: "value", value: node.args };
  }
  throw new Misuse("A key must be a text in quotes", node.start);
}

function callOf(node: Node & { readonly op: "call" | "rcall" }, text: string, place: Place): Term {
  const isMethod = node.op === "rcall";
  const [name] = node.args;
  const given: readonly Node[] = node.op === "rcall"
    ? [node.args[1], ...node.args[2]]
    : node.args[1];
  if (isMethod && (LOOPS as readonly string[]).includes(name)) {
    return loopOf(node, text, name as LoopName, given, place);
  }
  const [first, second] = given;
  if (!isMethod && name === "has" && first?.op === ".") {
    const type = typeIn(first);
    return { text, kind: "has", ...fieldOf(first, place), isScalar: SCALARS.includes(type) };
  }
  if (!isMethod && name === "finds" && first !== undefined && second !== undefined) {
    if (second.op !== "value" || typeof second.args !== "string") {
      throw new Misuse("The pattern must be a text in quotes", second.start);
    }
    const pattern = patternOf(second.args, second.start);
    return { text, kind: "finds", of: termOf(first, place), pattern, at: second.start };
  }
  if (Object.hasOwn(FUNCTIONS, name) && FUNCTIONS[name as FunctionName] === given.length) {
    return {
      text,
      kind: "call",
      name: name as FunctionName,
      of: given.map((part) => termOf(part, place)),
    };
  }
  throw unknownFunction(name, node.start);
}

function loopOf(
  { start }: Node,
  text: string,
  name: LoopName,
  [over, variable, ...rest]: readonly Node[],
  { variables, literals }: Place,
): Term {
  const slot = variables.length;
  const [test, result] = name !== "map" || rest.length > 1 ? rest : [undefined, ...rest];
  if (over === undefined || variable?.op !== "id") {
    throw new Misuse(`"${name}" needs a name for the item`, start);
  }
  if (slot === LOOPS_NESTED_MAX) {
    const message = `Loops such as "${name}" nest deeper than ${LOOPS_NESTED_MAX} levels`;
    throw new Misuse(message, start, "Split it into several checks");
  }
  const inner = { variables: [...variables, variable.args], literals };
  return {
    text,
    kind: "loop",
    name,
    over: termOf(over, { variables, literals }),
    slot,
    test: test === undefined ? null : termOf(test, inner),
    result: result === undefined ? null : termOf(result, inner),
  };
}
