/**
 * Types of values in the words of the documents.
 *
 * @module
 */
import { FIELD_TYPES } from "../program.ts";

/** Types of the fields of objects, by the name of their type. */
export const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = FIELD_TYPES;

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
