/** `/dashboard/runs`: the runs of a team, newest first, by the filters of `GET /v1/runs`. */
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListPage } from "../../../domain/runs/list.ts";
import { parseRunsQuery, type RunsRequest } from "../../../domain/runs/list_query.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import type { HandlerDeps } from "../../http/admission.ts";
import { queryOf } from "../../http/query.ts";
import { parseRunsCursor, runsCursorText } from "../../api/runs/run_list.ts";
import { originOf } from "../components/origin.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago, NextPage, Wide } from "../components/elements.tsx";
import { Done } from "../components/done_notice.tsx";
import { countRejected, RejectedBanner } from "../refusals/banner.tsx";
import { Chips, FilterForm, listPath, readRunListQuery, type RunListQuery } from "./filters.tsx";
import { EmptyRunList } from "./empty.tsx";
import { RunsTable } from "./table.tsx";
import {
  newOf,
  TAIL_RELOAD_SECONDS,
  TAIL_WAIT_MS,
  type TailCursor,
  tailCursorOf,
  tailCursorText,
  whenChanged,
} from "./tail.ts";

/** Shows the list; a page that is followed waits for something new, if it says what was seen of it. */
export function showRuns(deps: HandlerDeps): Handle {
  const { admission, changes, environment } = deps;
  return async (c) => {
    const asked = readRunListQuery(queryOf(c));
    const request = parseRunsQuery(queryOf(c), environment.now(), parseRunsCursor);
    if (!request.ok) {
      c.set("renderProblem", (c, problem, headers) => showRefused(c, asked, problem, headers));
      return fail(c, request.problem);
    }
    const { id } = c.get("principal").team;
    const seen = isFollowed(asked) ? tailCursorOf(asked) : null;
    const show = () => showList(deps, c, { asked, request: request.value, seen });
    // Without a slot the page polls instead.
    if (seen === null || !admission.longPolls.hasRoom(id)) return await show();
    return await admission.park(c, TAIL_WAIT_MS, async (signal) => {
      await whenChanged(changes, id, seen.change, signal);
      return await show();
    });
  };
}

/** Only the first page can be followed: the others stand still. */
function isFollowed(asked: RunListQuery): boolean {
  return asked.get("live") === "1" && !asked.has("cursor");
}

interface Question {
  readonly asked: RunListQuery;
  readonly request: RunsRequest;
  /** What was seen of the list; null where it is not followed, or only begins to be. */
  readonly seen: TailCursor | null;
}

/** What a page of the list says. */
interface Found extends Omit<Question, "seen"> {
  readonly page: RunListPage;
  /** Its runs that are new to who looks. */
  readonly fresh: ReadonlySet<RunId>;
  readonly nowMs: number;
  readonly origin: string;
  readonly live: boolean;
  /** The number of the latest change before the list was read. */
  readonly change: number;
}

async function showList(
  deps: AppDeps,
  c: RequestContext,
  { asked, request, seen }: Question,
): Promise<Response> {
  const { runList, changes, environment } = deps;
  const { team } = c.get("principal");
  const nowMs = environment.now();
  const live = isFollowed(asked);
  // The number first: what changes in between is then told by the next look.
  const change = live ? await changes.last(team.id) : 0;
  const [page, rejected] = await Promise.all([
    runList.page(team, request.query, request.after, request.limit),
    countRejected(deps, team.id, nowMs),
  ]);
  const origin = originOf(c);
  const fresh = newOf(page.rows, seen);
  const found = { asked, request, page, fresh, nowMs, origin, live, change };
  return showPage(c, {
    title: "Runs",
    aside: <Tools asked={asked} live={live} fresh={fresh.size} />,
    body: (
      <>
        <Done c={c} />
        <RejectedBanner count={rejected} />
        <List {...found} />
      </>
    ),
    ...(live ? { reloadSeconds: TAIL_RELOAD_SECONDS } : {}),
  });
}

function showRefused(
  c: RequestContext,
  asked: RunListQuery,
  problem: Problem,
  headers: Record<string, string>,
): Response {
  const body = (
    <>
      <FilterForm asked={asked} live={false} problem={problem} />
      <Chips asked={asked} live={false} />
      <p>
        <a href={listPath(new Map())}>Show all runs</a>
      </p>
    </>
  );
  return showPage(c, { title: "Runs", body, status: ERRORS[problem.code].status }, headers);
}

/** Following the list, and taking it away as a file. */
function Tools(
  { asked, live, fresh }: {
    readonly asked: RunListQuery;
    readonly live: boolean;
    readonly fresh: number;
  },
) {
  const file = { limit: null };
  return (
    <div class="tools">
      {live
        ? (
          <>
            <span class="live">
              <span aria-hidden="true">●</span> Live
            </span>
            <a role="button" class="small secondary" href={listPath(asked)}>Pause</a>
            <span id="news" class="news" role="status">{fresh === 0 ? null : `${fresh} new`}</span>
          </>
        )
        : <a role="button" class="small" href={listPath(asked, { live: "1" })}>Live</a>}
      <span>
        Export as <a href={listPath(asked, file, ".csv")} download="">CSV</a>,{" "}
        <a href={listPath(asked, file, ".ndjson")} download="">NDJSON</a>
      </span>
    </div>
  );
}

function List(found: Found) {
  const { asked, live, page: { rows, next }, fresh, nowMs } = found;
  return (
    <>
      <FilterForm asked={asked} live={live} problem={null} />
      <Chips asked={asked} live={live} />
      <WindowNote {...found} />
      <Wide label="Runs">
        <div id="runs" {...followed(found)}>
          {rows.length > 0
            ? <RunsTable rows={rows} fresh={fresh} asked={asked} live={live} nowMs={nowMs} />
            : <EmptyRunList {...found} goesOn={next !== null} />}
        </div>
      </Wide>
      <Onward {...found} />
    </>
  );
}

/**
 * What makes the list load itself anew: every 2 s one request at most, which waits for something new. One
 * that fails, or whose connection is gone, leaves everything as it is, and the next one is sent.
 */
function followed({ asked, live, change, page: { rows } }: Found): Record<string, string> {
  if (!live) return {};
  return {
    "hx-get": listPath(asked, { live: "1", ...tailCursorText(change, rows) }),
    "hx-trigger": "every 2s",
    "hx-sync": "this:drop",
    "hx-select": "#runs",
    "hx-select-oob": "#news:innerHTML,#onward",
    "hx-swap": "outerHTML",
    "hx-request": JSON.stringify({ timeout: 2 * TAIL_WAIT_MS }),
  };
}

/** Said where the API looks at the latest hours only. */
function WindowNote({ asked, request: { query, isWindowDefault }, nowMs, live }: Found) {
  if (!isWindowDefault || query.from === null) return null;
  const from = formatInstant(nowMs - 7 * 86_400_000).slice(0, 10);
  return (
    <p class="soft">
      Only runs since <Ago at={query.from} now={nowMs} />{" "}
      are looked at, one by one, as no index answers this. To look further back, say <b>From</b>
      {" "}
      when: <a href={listPath(asked, { from, live: live ? "1" : null })}>the last 7 days</a>.
    </p>
  );
}

/** How far was looked, and the way on. */
function Onward({ asked, request, page: { next, searchedTo }, nowMs }: Found) {
  const { query, isWindowDefault } = request;
  const cursor = next === null ? null : runsCursorText(next, isWindowDefault ? query.from : null);
  const to = cursor === null ? null : listPath(asked, { cursor });
  return (
    <div id="onward">
      {to === null || searchedTo === null ? <NextPage to={to} /> : (
        <p>
          Looked back to <Ago at={searchedTo} now={nowMs} />{" "}
          (<code>{formatInstant(searchedTo)}</code>) and stopped there, as too many runs did not
          fit. <a href={to} rel="next">Go on from there</a>
        </p>
      )}
      {asked.has("cursor")
        ? (
          <p>
            <a href={listPath(asked)}>Back to the newest</a>
          </p>
        )
        : null}
    </div>
  );
}
