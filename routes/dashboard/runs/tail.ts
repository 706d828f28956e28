/**
 * Following the list of runs: a request sends what the browser has seen, waits until something
 * changes, and learns which runs of the page are new.
 */
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import type { ChangeStore } from "../../../domain/feed/changes.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { changeCursor, parseChangeCursor } from "../../api/feed/changes.ts";
import type { RunListQuery } from "./filters.tsx";

/** Milliseconds a request waits for a change; then the page is shown anyway, with current times. */
export const TAIL_WAIT_MS = 15_000;

/** Seconds after which a browser without scripts reloads the page. */
export const TAIL_RELOAD_SECONDS = 5;

/** Characters of an id that tell it from the others of a page, well enough to mark it. */
const MARK_CHARS = 6;

/** Runs of a page that are remembered, so that the address stays short: new ones come in above them. */
const REMEMBERED_MAX = 100;

/** The part of a list that was seen. */
export interface TailCursor {
  /** The number of the latest change by then. */
  readonly change: number;
  /** Ends of the ids of the first runs that were shown. */
  readonly marks: ReadonlySet<string>;
}

/** Writes what was seen as parameters of the page. */
export function tailCursorText(
  change: number,
  rows: readonly RunListRow[],
): Record<string, string> {
  const marks = rows.slice(0, REMEMBERED_MAX).map(({ id }) => markOf(id));
  return { seen: changeCursor(change), shown: marks.join("") };
}

/** Reads what {@link tailCursorText} wrote; null where that is not there, or something else. */
export function tailCursorOf(filters: RunListQuery): TailCursor | null {
  const change = parseChangeCursor(filters.get("seen") ?? "");
  const shown = filters.get("shown") ?? "";
  if (change === null || !/^([0-9a-f]{6}){0,100}$/.test(shown)) return null;
  return { change, marks: new Set(shown.match(/.{6}/g)) };
}

function markOf(id: RunId): string {
  return id.slice(-MARK_CHARS);
}

/**
 * The runs of a page that were not there when it was seen. What stands behind all that was seen may
 * have moved up from the next page, and is not new.
 */
export function newOf(rows: readonly RunListRow[], seen: TailCursor | null): ReadonlySet<RunId> {
  if (seen === null) return new Set();
  const ids = rows.map(({ id }) => id);
  const last = ids.findLastIndex((id) => seen.marks.has(markOf(id)));
  // Nothing is left of what was seen: all of it is new, or there was nothing.
  const above = last < 0 ? ids : ids.slice(0, last);
  return new Set(above.filter((id) => !seen.marks.has(markOf(id))));
}

/** Waits until a team has another change than the one that was seen, or the signal is aborted. */
export async function whenChanged(
  changes: ChangeStore,
  team: TeamId,
  seen: number,
  signal: AbortSignal,
): Promise<void> {
  using watch = changes.watch(team);
  while (!signal.aborted && await changes.last(team) === seen) await watch.next(signal);
}
