/**
 * Reads the library's tree, and refuses what is not on the list of what an expression may use.
 *
 * @module
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { FACT_TYPES, type FactName } from "../program.ts";
import { Misuse } from "./misuse.ts";
import { FIELDS } from "./names.ts";
import { type SourceNode, unknownField, unknownFunction } from "./parse.ts";
import { patternOf } from "./pattern.ts";
import { FUNCTIONS, type OperationName, OPERATIONS } from "./operations.ts";
import { type Literal, type LoopName, LOOPS, type Term } from "./term.ts";

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
  const partsOf = (nodes: readonly Node[], inner = place) =>
    nodes.map((part) => termOf(part, inner));
  switch (node.op) {
    case "value":
      return { text, kind: "value", value: literalOf(node.args, node.start), parts: [] };
    case "id":
      return { text, ...nameOf(node.args, node.start, place), parts: [] };
    case ".":
      return fieldOf("field", text, node.args, isScalar(node.checkedType?.name), place);
    case "[]": {
      const [owner, at] = node.args;
      if (at.op === "value" && typeof at.args === "string") {
        return fieldOf("field", text, [owner, at.args], isScalar(node.checkedType?.name), place);
      }
      return { text, kind: "operation", name: node.op, parts: partsOf(node.args) };
    }
    case "!_":
    case "-_":
      return { text, kind: "operation", name: node.op, parts: partsOf([node.args]) };
    case "&&":
    case "||":
    case "?:":
      return { text, kind: node.op, parts: partsOf(node.args) };
    case "list":
      return { text, kind: "list", parts: partsOf(node.args, deeper(node, place)) };
    case "map": {
      const inner = deeper(node, place);
      const parts = node.args.flatMap(([key, value]) => [keyOf(key), termOf(value, inner)]);
      return { text, kind: "object", parts };
    }
    case "call":
    case "rcall":
      return callOf(node, text, place);
  }
  if (!Object.hasOwn(OPERATIONS, node.op)) {
    throw new Misuse(`"${node.op}" is not allowed`, node.start);
  }
  const parts = partsOf(node.args as readonly Node[]);
  return { text, kind: "operation", name: node.op as OperationName, parts };
}

function fieldOf(
  kind: "field" | "has",
  text: string,
  [owner, key]: readonly [Node, string],
  isScalar: boolean,
  place: Place,
): Term {
  return { text, kind, key, isScalar, parts: [termOf(owner, place)] };
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

function isScalar(type: string | undefined): boolean {
  return type !== undefined && SCALARS.includes(type);
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
  const fields = FIELDS[type];
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
    return { text: "", kind: "value", value: node.args, parts: [] };
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
    return fieldOf("has", text, first.args, isScalar(typeIn(first)), place);
  }
  if (!isMethod && name === "finds" && first !== undefined && second !== undefined) {
    if (second.op !== "value" || typeof second.args !== "string") {
      throw new Misuse("The pattern must be a text in quotes", second.start);
    }
    const pattern = patternOf(second.args, second.start);
    return { text, kind: "finds", pattern, at: second.start, parts: [termOf(first, place)] };
  }
  if (FUNCTIONS.includes(name) && OPERATIONS[name as OperationName].takes === given.length) {
    const parts = given.map((part) => termOf(part, place));
    return { text, kind: "operation", name: name as OperationName, parts };
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
  if (over === undefined || variable?.op !== "id") {
    throw new Misuse(`"${name}" needs a name for the item`, start);
  }
  if (slot === LOOPS_NESTED_MAX) {
    const message = `Loops such as "${name}" nest deeper than ${LOOPS_NESTED_MAX} levels`;
    throw new Misuse(message, start, "Split it into several checks");
  }
  const inner = { variables: [...variables, variable.args], literals };
  const parts = [termOf(over, { variables, literals }), ...rest.map((part) => termOf(part, inner))];
  const isMapped = name === "map";
  return {
    text,
    kind: "loop",
    name,
    slot,
    isTested: !isMapped || rest.length > 1,
    isMapped,
    parts,
  };
}
