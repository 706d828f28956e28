/**
 * The names that an expression can use, and their types.
 *
 * @module
 */
import type { FactName } from "../program.ts";

/** Types of facts, as CEL writes them. Every number is a double, as in JSON. */
export const FACT_TYPES: Readonly<Record<FactName, string>> = {
  status: "string",
  kind: "string",
  agent: "string",
  customer_id: "string",
  feature: "string",
  duration_ms: "double",
  goal: "string",
  cost_usd: "double",
  cost_with_children_usd: "double",
  usage: "Usage",
  unpriced: "list<string>",
  metadata: "map<string, dyn>",
  scores: "map<string, dyn>",
  output: "dyn",
  tools: "list<Tool>",
  calls: "list<Call>",
  longest_repeat: "Repeat",
};

/** Types of the fields of facts that are objects. */
export const FIELD_TYPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Usage: {
    events: "double",
    llm_calls: "double",
    tool_calls: "double",
    errors: "double",
    input_tokens: "double",
    output_tokens: "double",
    cached_input_tokens: "double",
  },
  Tool: { name: "string", error: "string", latency_ms: "double", input: "dyn" },
  Call: {
    provider: "string",
    model: "string",
    error: "string",
    latency_ms: "double",
    input_tokens: "double",
    output_tokens: "double",
  },
  Repeat: { times: "double", name: "string" },
};

/** Returns a type in the words of the documents. */
export function typeInWords(type: string): string {
  if (type.startsWith("list")) return "a list";
  if (type.startsWith("map") || Object.hasOwn(FIELD_TYPES, type)) return "an object";
  switch (type) {
    case "string":
      return "text";
    case "int":
    case "double":
    case "uint":
      return "a number";
    case "bool":
      return "true or false";
    case "null":
      return "null";
    default:
      return "a value";
  }
}

/** Returns the type of a value in the words of the documents. */
export function kindOf(value: unknown): string {
  if (typeof value === "string") return "text";
  if (typeof value === "number") return "a number";
  if (typeof value === "boolean") return "true or false";
  if (value === null || value === undefined) return "null";
  return Array.isArray(value) ? "a list" : "an object";
}

/** Returns whether a value is an object with fields, which a list is not. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
