/**
 * Checks the names of query parameters. Reads reject unknown parameters and parameters without a value
 * (R11, R20), because ignoring a filter would return everything.
 *
 * @module
 */
import type { Problem } from "./errors.ts";
import { decodeQueryPart, FIELD_CHARS_MAX } from "./query.ts";
import { printable } from "./text.ts";

/**
 * Returns the refusal of the first invalid parameter, or null if all are valid.
 *
 * @param query the query string without the question mark
 * @param known names of the parameters that the read accepts
 */
export function queryProblem(query: string, known: readonly string[]): Problem | null {
  if (query === "") return null;
  for (const pair of query.split("&")) {
    // Two adjacent separators name no parameter.
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeQueryPart(equals < 0 ? pair : pair.slice(0, equals));
    // The query parser reports invalid encoding.
    if (name === null) return null;
    // Ping clients may send `key` with other calls too, where it is neither credential nor filter.
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
  const message = `Parameter "${name}" has no value: add one or leave the parameter out`;
  return { code: "invalid_field", message, field: name };
}

/** Returns the known name most similar to `name`; null if none is similar or `name` is too long. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > FIELD_CHARS_MAX) return null;
  const wanted = name.toLowerCase();
  let nearest: string | null = null;
  let best = Infinity;
  for (const candidate of known) {
    const edits = editsBetween(wanted, candidate);
    // At most half of the longer name may differ; beyond that it is another word.
    if (edits >= best || 2 * edits > Math.max(wanted.length, candidate.length)) continue;
    nearest = candidate;
    best = edits;
  }
  return nearest;
}

/** Returns the Levenshtein distance between two texts. */
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
