/**
 * Live updates of the run list: a request sends what the browser has seen, waits for a change, and
 * reports which runs of the page are new.
 */
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { changeCursor, parseChangeCursor } from "../../api/feed/changes.ts";
import type { ListQuery } from "./query.ts";

/**
 * Maximum milliseconds that a request waits for a change; then it renders the page anyway, with
 * current times.
 */
export const TAIL_WAIT_MS = 15_000;

/** Seconds between reloads in a browser without scripts. */
export const TAIL_RELOAD_SECONDS = 5;

/** Characters of an id that identify it within a page. */
const MARK_CHARS = 6;

/** Maximum runs remembered, so that the URL stays short: new runs appear above them. */
const REMEMBERED_MAX = 100;

/** The part of a list already seen. */
export interface TailCursor {
  /** Number of the latest change at that time. */
  readonly change: number;
  /** Id suffixes of the first runs shown. */
  readonly marks: ReadonlySet<string>;
}

/** Encodes what was seen as parameters of the page. */
export function tailCursorText(
  change: number,
  rows: readonly RunListRow[],
): Record<string, string> {
  const marks = rows.slice(0, REMEMBERED_MAX).map(({ id }) => markOf(id));
  return { seen: changeCursor(change), shown: marks.join("") };
}

/** Decodes the parameters of {@link tailCursorText}; null if absent or malformed. */
export function tailCursorOf(query: ListQuery): TailCursor | null {
  const change = parseChangeCursor(query.get("seen") ?? "");
  const suffixes = query.get("shown") ?? "";
  if (change === null || !/^([0-9a-f]{6}){0,100}$/.test(suffixes)) return null;
  return { change, marks: new Set(suffixes.match(/.{6}/g)) };
}

function markOf(id: RunId): string {
  return id.slice(-MARK_CHARS);
}

/**
 * Returns the runs of a page that are new since it was seen. A run after all the seen ones may have
 * moved up from the next page, so it is not new.
 */
export function newOf(rows: readonly RunListRow[], seen: TailCursor | null): ReadonlySet<RunId> {
  if (seen === null) return new Set();
  const ids = rows.map(({ id }) => id);
  const last = ids.findLastIndex((id) => seen.marks.has(markOf(id)));
  // None of the seen runs is left: all runs are new, or the list was empty.
  const above = last < 0 ? ids : ids.slice(0, last);
  return new Set(above.filter((id) => !seen.marks.has(markOf(id))));
}
