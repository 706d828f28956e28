/** `GET /v1/runs`: the runs of a team, newest first, a page at a time. */
import type { Handler } from "../../http/admission.ts";
import { type RawJson, rawOf, writeObject } from "../../../domain/core/raw_json.ts";
import { dollars } from "../../../domain/pricing/money.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow, RunPosition } from "../../../domain/runs/list.ts";
import { parseRunsQuery, type RunsCursor } from "../../../domain/runs/list_query.ts";
import { answer, fail } from "../../http/answer.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";
import { costJson, instantText, usageJson } from "./run_json.ts";

export const listRuns: Handler = async (c, { runList, environment }) => {
  const request = parseRunsQuery(queryOf(c), environment.now(), parseRunsCursor);
  if (!request.ok) return fail(c, request.problem);
  const { query, isWindowDefault, after, limit } = request.value;
  const page = await runList.page(c.get("principal").team, query, after, limit);
  const { from, to } = query;
  const cursor = page.next === null
    ? null
    : runsCursorText(page.next, isWindowDefault ? from : null);
  return answer(
    c,
    200,
    writeObject([
      ["runs", `[${page.rows.map(runRowJson).join(",")}]`],
      ["cursor", rawOf(cursor)],
      [
        "window",
        writeObject([
          ["from", instantText(from)],
          ["to", instantText(to)],
          ["defaulted", rawOf(isWindowDefault)],
        ]),
      ],
      ["searched_to", instantText(page.searchedTo)],
    ]),
  );
};

/** Writes a run for lists. */
export function runRowJson(row: RunListRow): RawJson {
  return runRowJsonWith(row, rawOf(dollars(row.cost.amount)));
}

/** Writes a run for lists with a cost that is already serialized. */
export function runRowJsonWith(row: RunListRow, costUsd: RawJson): RawJson {
  return writeObject([
    ["id", rawOf(row.id)],
    ["kind", rawOf(row.kind)],
    ["agent", rawOf(row.agent)],
    ["status", rawOf(row.status)],
    ["started_at", instantText(row.startedAt)],
    ["finished_at", instantText(row.finishedAt)],
    ["received_at", instantText(row.receivedAt)],
    ["duration_ms", rawOf(row.durationMs)],
    ["flags", rawOf(row.flags)],
    ["has", rawOf(row.has)],
    ["customer_id", rawOf(row.customerId)],
    ["feature", rawOf(row.feature)],
    ["cost_usd", costUsd],
    ["cost", costJson(row.cost)],
    ["usage", usageJson(row.usage)],
  ]);
}

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
