/** `GET /v1/live`: changes of a team's runs as server-sent events; and the endpoints of the feed. */
import { z } from "zod";
import { Refused } from "../../../domain/core/errors.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import {
  CHANGES_PER_PAGE,
  CHANGES_WAIT_SECONDS_MAX,
  LISTENERS_MAX,
  LIVE_BATCH_CHARS_MAX,
  LIVE_CHANGES_LAG_MAX,
  LIVE_KEEP_ALIVE_MS,
} from "../../../domain/core/limits.ts";
import { Query } from "../../../domain/core/query.ts";
import {
  type ChangePage,
  LIVE_EVENTS,
  type LiveFilters,
  readLiveFilters,
} from "../../../domain/feed/changes.ts";
import { teamKey } from "../../http/access.ts";
import { answerText, emptyStream, fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { isStillLive } from "../../http/credential.ts";
import { queryOf } from "../../http/query.ts";
import { paced } from "../../http/rate.ts";
import { answered, endpoints, ok, textBody } from "../../openapi/describe.ts";
import { cursor, limitOf } from "../../openapi/fields.ts";
import { RUN_FILTERS } from "../runs/run_list.ts";
import { runRow } from "../runs/run_json.ts";
import {
  changePage,
  listChanges,
  parseChangeCursor,
  skippedChanges,
  UNKNOWN_CURSOR,
} from "./changes.ts";
import { LiveStream } from "./live_stream.ts";

/** Parameters of a request for the stream. */
interface LiveQuery {
  readonly filters: LiveFilters;
  /** Change after which the stream starts; null to start now. */
  readonly after: number | null;
}

/** Keeps proxies from buffering events, for example to compress them. */
const HEADERS = { "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no" } as const;

/** Changes read per page while a stream catches up. */
const CHANGES_PER_READ = 100;

/** Starts a stream; false when the feed has not reached `after`. */
async function begin(
  { live, changes }: AppDeps,
  team: TeamId,
  stream: LiveStream,
  after: number | null,
  read: (page: () => Promise<ChangePage | null>) => Promise<ChangePage | null>,
): Promise<boolean> {
  // Subscribes before reading the feed's end, so that no change is missed in between.
  stream.holds(await live.listen(team, (batch) => stream.take(batch)));
  const last = await changes.last(team);
  const from = after ?? last;
  if (from > last) return false;
  stream.begin(from);
  // A larger backlog is skipped; the client reads it from the feed.
  if (last - from > LIVE_CHANGES_LAG_MAX) stream.skipTo(last);
  // Not awaited: the response starts now, and pages are sent as they are read.
  const page = (position: number) =>
    read(() => changes.page(team, position, CHANGES_PER_READ, LIVE_BATCH_CHARS_MAX));
  void stream.catchUp(last, page);
  return true;
}

function parseLiveQuery(c: RequestContext): LiveQuery {
  const query = new Query(queryOf(c));
  const filters = readLiveFilters(query);
  // A client that reconnects sends the header with its original URL, so the header is newer.
  const cursor = c.req.raw.headers.get("last-event-id") || query.text("after");
  const after = cursor === undefined ? null : parseChangeCursor(cursor);
  if (cursor !== undefined && after === null) throw new Refused(UNKNOWN_CURSOR);
  return { filters, after };
}

const { agent, customer_id, feature, status, kind } = RUN_FILTERS;

const EVENTS = LIVE_EVENTS.map((event) => `\`${event}\``).join(", ");

export const FEED_ENDPOINTS = endpoints("Runs", {
  listChanges: {
    route: "GET /v1/changes",
    access: teamKey("read"),
    handler: listChanges,
    summary: "Follow changes",
    description: "Returns every run once, at its latest change, in change order. A client that " +
      "continues with `next_cursor` misses no change. Runs that expire are not reported.",
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
  },
  followLive: {
    route: "GET /v1/live",
    access: teamKey("read"),
    handler: async (c, deps) => {
      const { admission } = deps;
      const query = parseLiveQuery(c);
      if (c.req.method === "HEAD") {
        return answerText(c, 200, emptyStream(), "text/event-stream", HEADERS);
      }
      const slot = admission.acquireLongPoll(c);
      if (slot instanceof Response) return slot;
      const { filters, after } = query;
      const team = c.get("principal").team.id;
      const mayGoOn = isStillLive(deps, c);
      const keepAliveMs = Math.min(LIVE_KEEP_ALIVE_MS, deps.silentMsMax);
      const waiting = admission.liveText;
      const stream = new LiveStream({ team, filters, waiting, keepAliveMs, mayGoOn });
      stream.holds(slot);
      stream.endsWith(deps.shuttingDown);
      try {
        const read = paced(deps, c);
        if (!await begin(deps, team, stream, after, (page) => read(c.req.raw.signal, page))) {
          stream.end();
          return fail(c, UNKNOWN_CURSOR);
        }
      } catch (error) {
        stream.end();
        throw error;
      }
      return answerText(c, 200, stream.body, "text/event-stream", HEADERS);
    },
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
      ...answered(200, "The event stream.", textBody("text/event-stream")),
      parts: {
        ...Object.fromEntries(LIVE_EVENTS.map((event) => [event, runRow.schema])),
        "changes.skipped": skippedChanges.schema,
      },
    }],
    errors: ["rate_limit", "overloaded"],
  },
});
