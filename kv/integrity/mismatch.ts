/**
 * How the audit says what differs.
 *
 * @module
 */

/** Something that is not as what it was made of says. */
export interface Mismatch {
  /** What it is. */
  readonly what: string;
  /** What the parts give: only what differs. */
  readonly expected: string;
  /** What is stored. */
  readonly found: string;
}

/** Stands for what is not there. */
export const NONE = "none";

/** The fields in which two things differ, as one mismatch; none when they are the same. */
export function mismatch(
  what: string,
  expected: Readonly<Record<string, unknown>>,
  found: Readonly<Record<string, unknown>>,
): Mismatch[] {
  const names = new Set([...Object.keys(expected), ...Object.keys(found)]);
  const differ = [...names].filter((name) => textOf(expected[name]) !== textOf(found[name]));
  if (differ.length === 0) return [];
  const words = (side: Readonly<Record<string, unknown>>) =>
    differ.map((name) => `${name} ${textOf(side[name])}`).join(", ");
  return [{ what, expected: words(expected), found: words(found) }];
}

function textOf(value: unknown): string {
  if (value === undefined) return NONE;
  if (typeof value === "bigint") return `${value}`;
  return JSON.stringify(value, (_, part) => typeof part === "bigint" ? `${part}` : inOrder(part));
}

/** The same fields are the same text, in whatever order they were written. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}
