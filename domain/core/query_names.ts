/**
 * Names of query parameters: a read refuses a name that it does not know and a parameter without a value
 * (R11, R20), because a filter that is not applied answers everything.
 *
 * @module
 */
import type { Problem } from "./errors.ts";
import { decodeQueryPart, FIELD_CHARS_MAX } from "./query.ts";
import { printable } from "./text.ts";

/**
 * Returns the first parameter of a query that a read refuses, or null when the read may be answered.
 *
 * @param query without the question mark
 * @param known names of the read's parameters
 */
export function queryProblem(query: string, known: readonly string[]): Problem | null {
  if (query === "") return null;
  for (const pair of query.split("&")) {
    // Two separators side by side name no parameter.
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeQueryPart(equals < 0 ? pair : pair.slice(0, equals));
    // The parser of the query says what is wrong with the encoding.
    if (name === null) return null;
    // Clients of pings may send it to other calls as well. It is no credential there, and no filter.
    if (name === "key") continue;
    if (!known.includes(name)) return unknownParameter(name, known);
    if (equals < 0 || equals === pair.length - 1) return emptyParameter(name);
  }
  return null;
}

function unknownParameter(name: string, known: readonly string[]): Problem {
  const field = printable(name.slice(0, FIELD_CHARS_MAX));
  const nearest = nearestName(name, known);
  const hint = nearest === null ? "" : ` Did you mean "${nearest}"?`;
  const list = known.length === 0 ? "This call takes none" : `Known: ${known.join(", ")}`;
  return { code: "invalid_field", message: `Unknown parameter "${field}".${hint} ${list}`, field };
}

function emptyParameter(name: string): Problem {
  const message = `Parameter "${name}" has no value: leave it out, or give it one`;
  return { code: "invalid_field", message, field: name };
}

/** Returns the known name that is nearest to another; null when none is similar, or it is too long. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > FIELD_CHARS_MAX) return null;
  const wanted = name.toLowerCase();
  let nearest: string | null = null;
  let best = Infinity;
  for (const each of known) {
    const edits = editsBetween(wanted, each);
    // Half of the longer name may differ: more than that is another word.
    if (edits >= best || 2 * edits > Math.max(wanted.length, each.length)) continue;
    nearest = each;
    best = edits;
  }
  return nearest;
}

/** Counts the characters to insert, delete or replace to turn one text into another. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
