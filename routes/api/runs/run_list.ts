/** `GET /v1/runs`: the runs of a team, newest first, a page at a time. */
import type { Handler } from "../../http/admission.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListPage, RunPosition, RunsQuery } from "../../../domain/runs/list.ts";
import { parseRunsQuery, type RunsCursor } from "../../../domain/runs/list_query.ts";
import { answer, fail } from "../../http/answer.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";
import { boolean, instant, list, nextCursor, object } from "../../openapi/wire.ts";
import { runRow } from "./run_json.ts";

export const listRuns: Handler = async (c, { runList, environment }) => {
  const request = parseRunsQuery(queryOf(c), environment.now(), parseRunsCursor);
  if (!request.ok) return fail(c, request.problem);
  const { query, isWindowDefault, after, limit } = request.value;
  const page = await runList.page(c.get("principal").team, query, after, limit);
  const windowStart = isWindowDefault ? query.from : null;
  const cursor = page.next === null ? null : runsCursorText(page.next, windowStart);
  return answer(c, 200, runPage.write({ ...page, query, cursor, isWindowDefault }));
};

interface RunPage extends RunListPage {
  readonly query: RunsQuery;
  readonly cursor: string | null;
  readonly isWindowDefault: boolean;
}

const window = object<RunPage>("RunWindow", {
  from: instant.orNull(({ query }) => query.from),
  to: instant.orNull(({ query }) => query.to, "Exclusive."),
  defaulted: boolean("isWindowDefault", "True if the default window was applied."),
});

/** Response of `GET /v1/runs`. */
export const runPage = object<RunPage>("RunPage", {
  runs: list(runRow)("rows", "Newest first, by start and then id."),
  cursor: nextCursor("cursor"),
  window: window((page) => page, "Range of `started_at` that was searched; a null bound is open."),
  searched_to: instant.orNull(
    "searchedTo",
    "Start time that the search reached, if the page ended before it was full.",
  ),
});

/** Encodes a position and the start of the default window, or null without one. */
export function runsCursorText({ at, run }: RunPosition, from: number | null): string {
  return encodeCursor(`${at} ${run} ${from ?? ""}`);
}

/** Decodes a cursor of {@link runsCursorText}; null when it is invalid. */
export function parseRunsCursor(cursor: string): RunsCursor | null {
  const match = /^(\d{1,16}) (run_(?:eu|us)_[0-9a-f]{32}) (\d{0,16})$/.exec(
    decodeCursor(cursor) ?? "",
  );
  const [, at, run, from] = match ?? [];
  if (at === undefined || run === undefined) return null;
  return { after: { at: Number(at), run: run as RunId }, from: from ? Number(from) : null };
}
