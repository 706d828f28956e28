/** The calls that follow runs as they change, described. */
import { listChanges } from "./changes.ts";
import { followLive } from "./live.ts";
import { teamKey } from "../../http/access.ts";
import { z } from "zod";
import { LIVE_EVENTS } from "../../../domain/feed/live.ts";
import {
  CHANGES_PER_PAGE,
  CHANGES_WAIT_SECONDS_MAX,
  LISTENERS_MAX,
  LIVE_CHANGES_LAG_MAX,
  LIVE_KEEP_ALIVE_MS,
} from "../../../domain/core/limits.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { cursor, idOf, instantField, limitOf } from "../../openapi/fields.ts";
import { ROW, RUN_FILTERS, runRow } from "../runs/endpoints_list.ts";

const at = cursor.describe("The place of the change in the feed.");

const deleted = z.object({ id: idOf("run"), deleted_at: instantField }).meta({ id: "RunDeletion" });

const change = z.union([
  z.object({ cursor: at, run: runRow }).meta({ id: "ChangedRun" }),
  z.object({ cursor: at, deleted }).meta({ id: "GoneRun" }),
]).meta({ id: "Change", description: "A run as it now is, or that it is gone on request." });

const skipped = z.object({
  after: cursor.describe("The feed has what is left out after this place."),
  up_to: cursor.describe("Up to this place, itself included."),
}).meta({ id: "SkippedChanges" });

const page = z.object({
  changes: z.array(change).describe("In the order of the changes."),
  next_cursor: cursor.describe("For `after`, to go on."),
  has_more: z.boolean().describe("Whether there was more by the time of reading."),
}).meta({ id: "ChangePage" });

const { agent, customer_id, feature, status, kind } = RUN_FILTERS;

const EVENTS = LIVE_EVENTS.map((event) => `\`${event}\``).join(", ");

/** Runs as they change. */
export const FEED_ENDPOINTS = endpoints("Runs", [
  {
    method: "GET",
    path: "/v1/changes",
    access: teamKey("read"),
    handler: listChanges,
    id: "listChanges",
    summary: "Follow changes",
    description:
      "Every run once, at its latest change, in the order of the changes. A client that " +
      "continues with `next_cursor` misses nothing. A run that goes by age leaves without a word.",
    query: {
      after: cursor.optional().describe(
        "A `cursor` or `next_cursor`; absent to start from the beginning.",
      ),
      limit: limitOf(CHANGES_PER_PAGE, "Changes"),
      wait: z.int().min(0).max(CHANGES_WAIT_SECONDS_MAX).default(0)
        .describe("Seconds to wait for the first change when there is none."),
    },
    answers: ok("A page of the feed.", page),
    errors: ["rate_limit", "overloaded"],
    example: {
      query: { limit: "10" },
      status: 200,
      answer: {
        changes: [{
          cursor: "YzM",
          run: ROW,
        }],
        next_cursor: "YzM",
        has_more: false,
      },
      needs: ["openRun", "appendEvents", "finishRun"],
    },
  },
  {
    method: "GET",
    path: "/v1/live",
    access: teamKey("read"),
    handler: followLive,
    id: "followLive",
    summary: "Follow live",
    description: `Server-sent events: ${EVENTS}, each with the run as lists show it in \`data\` ` +
      "and a cursor of the feed in `id`. Of a change that is told by several events the last " +
      "has the `id`. A `changes.skipped` says between which cursors the feed has more than " +
      `${LIVE_CHANGES_LAG_MAX} changes that are left out. A silent stream says every ` +
      `${LIVE_KEEP_ALIVE_MS / 1_000} seconds that it is there. A team may have ` +
      `${LISTENERS_MAX.team} streams and waiting calls open.`,
    query: {
      after: cursor.optional().describe("A cursor of the feed; absent to begin now."),
      agent,
      customer_id,
      feature,
      status,
      kind,
    },
    headers: {
      "Last-Event-ID": cursor.optional()
        .describe("The last `id`, which goes before `after`: browsers send it by themselves."),
    },
    answers: [{
      status: 200,
      description: "The events, until the stream ends.",
      schema: z.string(),
      type: "text/event-stream",
      parts: {
        ...Object.fromEntries(LIVE_EVENTS.map((event) => [event, runRow])),
        "changes.skipped": skipped,
      },
    }],
    errors: ["rate_limit", "overloaded"],
    example: {
      query: { status: "failed" },
      status: 200,
      answer: "retry: 2000\nid: YzA\n\n",
      endless: true,
    },
  },
]);
