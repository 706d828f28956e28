/**
 * Reads attributes of a span: texts, counts, and objects that are sent as JSON text.
 *
 * @module
 */
import type { JsonFields } from "../core/body.ts";
import { JSON_DEPTH_MAX } from "../core/limits.ts";
import { isObject, nestsDeeperThan } from "../core/raw_json.ts";
import { LABEL_PREFIXES } from "./keys.ts";
import type { Attributes, AttributeValue, Span } from "./span.ts";

/** Returns the first attribute that is a text with characters; null for none. */
export function textOf(attributes: Attributes, keys: readonly string[]): string | null {
  for (const key of keys) {
    const text = plainText(attributes.get(key));
    if (text !== null) return text;
  }
  return null;
}

/** Returns a value as text: numbers and booleans are written; null for none. */
export function plainText(value: unknown): string | null {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return null;
  // Some exporters send every value as JSON text.
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  const text = isQuoted ? parsed(value) : value;
  return typeof text === "string" && text.trim() !== "" ? text.trim() : null;
}

/** Returns the first attribute that is a count; null for none. */
export function countOf(attributes: Attributes, keys: readonly string[]): number | null {
  for (const key of keys) {
    const value = attributes.get(key);
    const count = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof count === "number" && Number.isSafeInteger(count) && count >= 0) return count;
  }
  return null;
}

/** Returns whether an attribute is true, also as text. */
export function isTrue(value: AttributeValue | undefined): boolean {
  return value === true || typeof value === "string" && value.toLowerCase() === "true";
}

/** Returns an attribute that is an object, also as JSON text; empty for none. */
export function objectOf(value: unknown): JsonFields {
  const object = typeof value === "string" ? parsed(value) : value;
  return isObject(object) ? object : NO_FIELDS;
}

const NO_FIELDS: JsonFields = {};

/** Returns the texts of a list, which may be sent as JSON text; empty for none. */
export function listOf(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const list = typeof value === "string" && value.startsWith("[") ? parsed(value) : value;
  const values = Array.isArray(list) ? list : typeof list === "string" ? list.split(/,\s*/) : [];
  return values.flatMap((item) => plainText(item) ?? []);
}

/** Parses JSON text; the text itself if it is none, or nests too deep. */
export function parsed(text: string): unknown {
  if (!/^\s*["{[\d]/.test(text) || nestsDeeperThan(text, JSON_DEPTH_MAX - 8)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Labels that the application chose, by name without the prefix of its SDK. */
export type AppLabels = ReadonlyMap<string, string>;

const NO_LABELS: AppLabels = new Map<string, string>([]);

/** Returns the labels of a span that the application chose. */
export function appLabelsOf(span: Span): AppLabels {
  let labels: Map<string, string> | null = null;
  const add = (name: string, value: unknown) => {
    const text = plainText(value);
    if (text === null) return;
    labels ??= new Map();
    if (!labels.has(name)) labels.set(name, text);
  };
  for (const key of span.attributes.keys()) {
    for (const prefix of LABEL_PREFIXES) {
      if (key.startsWith(prefix)) add(key.slice(prefix.length), span.attributes.get(key));
    }
  }
  const metadata = objectOf(span.attributes.get("metadata"));
  for (const name in metadata) add(name, metadata[name]);
  return labels ?? NO_LABELS;
}
