/**
 * Mismatches between stored and recomputed data.
 *
 * @module
 */

/** A stored item that differs from the data it is derived from. */
export interface Mismatch {
  /** Name of the item. */
  readonly what: string;
  /** The recomputed fields that differ. */
  readonly expected: string;
  /** The stored fields that differ. */
  readonly found: string;
}

/** Placeholder for a missing item. */
export const NONE = "none";

/** Lists the fields that differ as one mismatch; empty when all are equal. */
export function mismatch(
  what: string,
  expected: Readonly<Record<string, unknown>>,
  found: Readonly<Record<string, unknown>>,
): Mismatch[] {
  const names = new Set([...Object.keys(expected), ...Object.keys(found)]);
  const differ = [...names].filter((name) => textOf(expected[name]) !== textOf(found[name]));
  if (differ.length === 0) return [];
  const fieldsOf = (side: Readonly<Record<string, unknown>>) =>
    differ.map((name) => `${name} ${textOf(side[name])}`).join(", ");
  return [{ what, expected: fieldsOf(expected), found: fieldsOf(found) }];
}

function textOf(value: unknown): string {
  if (value === undefined) return NONE;
  if (typeof value === "bigint") return `${value}`;
  if (value instanceof Uint8Array) return value.toHex();
  return JSON.stringify(value, (_, part) => typeof part === "bigint" ? `${part}` : inOrder(part));
}

/** Sorts fields, so that equal objects have equal texts. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}
