/** `GET /v1/changes`: every run at its latest change, in change order. */
import type { Handler } from "../../http/admission.ts";
import type { Parsed } from "../../../domain/core/errors.ts";
import type { ChangePage, RunChange } from "../../../domain/feed/changes.ts";
import { type RawJson, rawOf, writeObject } from "../../../domain/core/raw_json.ts";
import { readQuery, refuseQuery } from "../../../domain/core/query.ts";
import { CHANGES_PER_PAGE, CHANGES_WAIT_SECONDS_MAX } from "../../../domain/core/limits.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, fail } from "../../http/answer.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";
import { runRowJson } from "../runs/run_list.ts";

/** Parameters of a request for changes. */
interface ChangesQuery {
  readonly after: number;
  readonly limit: number;
  readonly waitSeconds: number;
}

export const listChanges: Handler = async (c, { changes, admission }) => {
  const query = parseChangesQuery(queryOf(c));
  if (!query.ok) return fail(c, query.problem);
  const { after, limit, waitSeconds } = query.value;
  const team = c.get("principal").team.id;

  /** Answers with a page if it has changes or may be empty; null otherwise. */
  async function answerPage(mayBeEmpty: boolean): Promise<Response | null> {
    const page = await changes.page(team, after, limit);
    if (page === null) return fail(c, UNKNOWN_CURSOR);
    const hasChanges = page.changes.length > 0 || page.hasMore;
    return hasChanges || mayBeEmpty ? answer(c, 200, pageJson(page)) : null;
  }

  return await answerPage(waitSeconds === 0) ??
    await admission.park(c, waitSeconds * 1_000, async (signal) => {
      using watch = changes.watch(team);
      for (;;) {
        const response = await answerPage(signal.aborted);
        if (response !== null) return response;
        await watch.next(signal);
      }
    });
};

/** Refuses a cursor that no page of this ledger returned: continuing from it could skip changes. */
export const UNKNOWN_CURSOR = {
  code: "invalid_field",
  message: '"after" must be a "cursor" of this feed: leave it out to start from the beginning',
  field: "after",
} as const;

/** Encodes a change number as an opaque cursor. */
export function changeCursor(number: number): string {
  return encodeCursor(`c${number}`);
}

/** Decodes a cursor of {@link changeCursor}; null when it is invalid. */
export function parseChangeCursor(text: string): number | null {
  const [, number] = /^c(\d{1,15})$/.exec(decodeCursor(text) ?? "") ?? [];
  return number === undefined ? null : Number(number);
}

function parseChangesQuery(text: string): Parsed<ChangesQuery> {
  return readQuery(text, (query) => {
    const limit = query.integer("limit", CHANGES_PER_PAGE);
    const bounds = { default: 0, min: 0, max: CHANGES_WAIT_SECONDS_MAX };
    const waitSeconds = query.integer("wait", bounds);
    const cursor = query.text("after");
    const after = cursor === undefined ? 0 : parseChangeCursor(cursor);
    return { after: after ?? refuseQuery(UNKNOWN_CURSOR), limit, waitSeconds };
  });
}

function pageJson({ changes, next, hasMore }: ChangePage): RawJson {
  return writeObject([
    ["changes", `[${changes.map(changeJson).join(",")}]`],
    ["next_cursor", rawOf(changeCursor(next))],
    ["has_more", rawOf(hasMore)],
  ]);
}

function changeJson(change: RunChange): RawJson {
  const cursor = rawOf(changeCursor(change.number));
  if (change.kind === "changed") {
    return writeObject([["cursor", cursor], ["run", runRowJson(change.row)]]);
  }
  const deleted = { id: change.run, deleted_at: formatInstant(change.deletedAt) };
  return writeObject([["cursor", cursor], ["deleted", rawOf(deleted)]]);
}
