/** Endpoints that follow runs as they change. */
import { changePage, listChanges, skippedChanges } from "./changes.ts";
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
import { cursor, limitOf } from "../../openapi/fields.ts";
import { ROW } from "../runs/examples.ts";
import { RUN_FILTERS } from "../runs/endpoints_list.ts";
import { runRow } from "../runs/run_json.ts";

const { agent, customer_id, feature, status, kind } = RUN_FILTERS;

const EVENTS = LIVE_EVENTS.map((event) => `\`${event}\``).join(", ");

/** Feed endpoints. */
export const FEED_ENDPOINTS = endpoints("Runs", {
  listChanges: {
    route: "GET /v1/changes",
    access: teamKey("read"),
    handler: listChanges,
    summary: "Follow changes",
    description:
      "Returns every run once, at its latest change, in change order. A client that continues with " +
      "`next_cursor` misses no change. Runs that expire are not reported.",
    query: {
      after: cursor.optional().describe(
        "A `cursor` or `next_cursor`; when absent, the feed starts from the beginning.",
      ),
      limit: limitOf(CHANGES_PER_PAGE, "changes"),
      wait: z.int().min(0).max(CHANGES_WAIT_SECONDS_MAX).default(0)
        .describe("Seconds to wait for a change if there is none yet."),
    },
    answers: ok("A page of the feed.", changePage),
    errors: ["rate_limit", "overloaded"],
    example: {
      query: { limit: "10" },
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
  followLive: {
    route: "GET /v1/live",
    access: teamKey("read"),
    handler: followLive,
    summary: "Stream changes live",
    description: `Server-sent events: ${EVENTS}. Each has the run as in lists in \`data\` and a ` +
      "cursor of the feed in `id`. If one change causes several events, only the last has the " +
      `\`id\`. When more than ${LIVE_CHANGES_LAG_MAX} changes are pending, they are omitted, and a ` +
      "`changes.skipped` event gives the cursors between which the feed has them. An idle stream " +
      `sends a keep-alive comment every ${LIVE_KEEP_ALIVE_MS / 1_000} seconds. A team may have ` +
      `${LISTENERS_MAX.team} streams and long polls open.`,
    query: {
      after: cursor.optional().describe(
        "A cursor of the feed; when absent, the stream starts now.",
      ),
      agent,
      customer_id,
      feature,
      status,
      kind,
    },
    headers: {
      "Last-Event-ID": cursor.optional()
        .describe(
          "The last received `id`; takes precedence over `after`. Browsers send it when they reconnect.",
        ),
    },
    answers: [{
      status: 200,
      description: "The event stream.",
      schema: z.string(),
      type: "text/event-stream",
      parts: {
        ...Object.fromEntries(LIVE_EVENTS.map((event) => [event, runRow.schema])),
        "changes.skipped": skippedChanges.schema,
      },
    }],
    errors: ["rate_limit", "overloaded"],
    example: {
      query: { status: "failed" },
      answer: "retry: 2000\nid: YzA\n\n",
      endless: true,
    },
  },
});
