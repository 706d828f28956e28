/** `GET /v1/live`: changes of a team's runs as server-sent events. */
import type { Handler } from "../../http/admission.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Parsed } from "../../../domain/core/errors.ts";
import type { ChangePage } from "../../../domain/feed/changes.ts";
import { type LiveFilters, readLiveFilters } from "../../../domain/feed/live.ts";
import { readQuery, refuseQuery } from "../../../domain/core/query.ts";
import { LIVE_BATCH_CHARS_MAX, LIVE_CHANGES_LAG_MAX } from "../../../domain/core/limits.ts";
import { answerText, emptyStream, fail } from "../../http/answer.ts";
import { parseChangeCursor, UNKNOWN_CURSOR } from "./changes.ts";
import { paced } from "../../http/rate.ts";
import { isStillLive } from "../../http/credential.ts";
import { LiveStream } from "./live_stream.ts";
import { queryOf } from "../../http/query.ts";

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

export const followLive: Handler = async (c, deps) => {
  const { admission } = deps;
  const query = parseLiveQuery(c);
  if (!query.ok) return fail(c, query.problem);
  if (c.req.method === "HEAD") {
    return answerText(c, 200, emptyStream(), "text/event-stream", HEADERS);
  }
  const slot = admission.acquireLongPoll(c);
  if (slot instanceof Response) return slot;
  const { filters, after } = query.value;
  const team = c.get("principal").team.id;
  const mayGoOn = isStillLive(deps, c);
  const stream = new LiveStream({ team, filters, waiting: admission.liveText, mayGoOn });
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
};

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

function parseLiveQuery(c: RequestContext): Parsed<LiveQuery> {
  return readQuery(queryOf(c), (query) => {
    const filters = readLiveFilters(query);
    // A client that reconnects sends the header with its original URL, so the header is newer.
    const cursor = c.req.raw.headers.get("last-event-id") || query.text("after");
    const after = cursor === undefined ? null : parseChangeCursor(cursor);
    return cursor !== undefined && after === null
      ? refuseQuery(UNKNOWN_CURSOR)
      : { filters, after };
  });
}
