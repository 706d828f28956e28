/** `GET /v1/changes`: every run at its latest change, in change order. */
import { z } from "zod";
import type { Handler } from "../../http/admission.ts";
import { existing } from "../../../domain/core/errors.ts";
import type { ChangePage, RunChange } from "../../../domain/feed/changes.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { Query } from "../../../domain/core/query.ts";
import { CHANGES_PER_PAGE, CHANGES_WAIT_SECONDS_MAX } from "../../../domain/core/limits.ts";
import { answer } from "../../http/answer.ts";
import { decodeCursor, encodeCursor, queryOf } from "../../http/query.ts";
import { waitForChange } from "../../http/wait_for_change.ts";
import { cursor } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { runRow } from "../runs/run_json.ts";

/** Parameters of a request for changes. */
interface ChangesQuery {
  readonly after: number;
  readonly limit: number;
  readonly waitSeconds: number;
}

export const listChanges: Handler = async (c, { changes, admission }, { team: { id: team } }) => {
  const { after, limit, waitSeconds } = parseChangesQuery(queryOf(c));

  const read = () => changes.page(team, after, limit);
  const show = (page: ChangePage | null) =>
    answer(c, 200, changePage.write(existing(page, UNKNOWN_CURSOR)));
  let page = await read();
  if (waitSeconds === 0 || !isEmpty(page)) return show(page);
  return await admission.park(c, waitSeconds * 1_000, async (signal) => {
    const isFilled = async () => !isEmpty(page = await read());
    const isDone = await waitForChange(changes, { team, run: null }, signal, isFilled);
    return show(isDone ? page : await read());
  });
};

/** Returns whether a page may be delayed: it has no change, and its cursor is known. */
function isEmpty(page: ChangePage | null): boolean {
  return page !== null && page.changes.length === 0 && !page.hasMore;
}

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

function parseChangesQuery(text: string): ChangesQuery {
  const query = new Query(text);
  const limit = query.integer("limit", CHANGES_PER_PAGE);
  const bounds = { default: 0, min: 0, max: CHANGES_WAIT_SECONDS_MAX };
  const waitSeconds = query.integer("wait", bounds);
  const cursor = query.text("after");
  const after = cursor === undefined ? 0 : parseChangeCursor(cursor);
  return { after: existing(after, UNKNOWN_CURSOR), limit, waitSeconds };
}

const at = shape.wire<number>(cursor, (number) => rawOf(changeCursor(number)));

const AT = "Position of the change in the feed.";

type Kind<Name extends RunChange["kind"]> = Extract<RunChange, { readonly kind: Name }>;

const changed = shape.object<Kind<"changed">>("ChangedRun", {
  cursor: at("number", AT),
  run: runRow("row"),
});

const deleted = shape.object<Kind<"deleted">>("GoneRun", {
  cursor: at("number", AT),
  deleted: shape.object<Kind<"deleted">>("RunDeletion", {
    id: shape.id("run")("run"),
    deleted_at: shape.instant("deletedAt"),
  })((change) => change),
});

const change = shape.wire<RunChange>(
  z.union([changed.schema, deleted.schema])
    .meta({ id: "Change", description: "The current state of a run, or its deletion." }),
  (change) => change.kind === "changed" ? changed.write(change) : deleted.write(change),
);

/** Response of `GET /v1/changes`. */
export const changePage = shape.object<ChangePage>("ChangePage", {
  changes: shape.list(change)("changes", "In change order."),
  next_cursor: at("next", "Value of `after` for the next page."),
  has_more: shape.boolean("hasMore", "True if there were more changes at the time of reading."),
});

/** Changes that a live stream leaves out. */
export const skippedChanges = shape.object<{ readonly after: number; readonly upTo: number }>(
  "SkippedChanges",
  {
    after: at("after", "The omitted changes follow this position in the feed."),
    up_to: at("upTo", "Position of the last omitted change."),
  },
);
