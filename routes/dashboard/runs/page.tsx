/** `/dashboard/runs`: the runs of a team, newest first, with the filters of `GET /v1/runs`. */
import type { Handler } from "../../http/admission.ts";
import { parseRunsQuery, type RunsRequest } from "../../../domain/runs/list_query.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { teamKey } from "../../http/access.ts";
import { isSessionStillLive } from "../../http/credential.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Refuse, RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { waitForChange } from "../../http/wait_for_change.ts";
import { parseRunsCursor, runsCursorText } from "../../api/runs/run_list.ts";
import { commandTarget } from "../components/first_command.tsx";
import { type DashboardPage, get } from "../layout/page.ts";
import { RUNS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Icon } from "../components/icons.tsx";
import { NextPage, Wide } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { Done } from "../components/done_notice.tsx";
import { countRejected, RejectedBanner } from "../refusals/page.tsx";
import {
  Chips,
  FilterForm,
  isLiveList,
  listPath,
  liveParameter,
  readRunListQuery,
  type RunListQuery,
} from "./filters.tsx";
import { EmptyRunList } from "./empty.tsx";
import { RunsTable } from "./table.tsx";
import {
  newOf,
  TAIL_RELOAD_SECONDS,
  TAIL_WAIT_MS,
  type TailCursor,
  tailCursorOf,
  tailCursorText,
} from "./tail.ts";
import { exportRuns } from "../../api/exports/exports.ts";

const exportCsv = exportRuns("csv", isSessionStillLive);

const exportNdjson = exportRuns("ndjson", isSessionStillLive);

/** Shows the list. A live page sends what it has seen, and the request waits for a change. */
const showRuns: Handler = async (c, deps) => {
  const { admission, changes, environment } = deps;
  const filters = readRunListQuery(queryOf(c));
  const request = parseRunsQuery(queryOf(c), environment.now(), parseRunsCursor);
  if (!request.ok) {
    const stopped = new Map([...filters].filter(([name]) => name !== "live"));
    c.set("renderProblem", renderRefused(stopped));
    return fail(c, request.problem);
  }
  const { id } = c.get("principal").team;
  const seen = isLiveList(filters) ? tailCursorOf(filters) : null;
  const show = async () => showList(c, await loadList(deps, c, filters, request.value, seen));
  // Without a free slot the page polls instead.
  if (seen === null || !admission.longPolls.hasRoom(id)) return await show();
  return await admission.park(c, TAIL_WAIT_MS, async (signal) => {
    const waited = { team: id, run: null };
    const isChanged = async () => await changes.last(id) !== seen.change;
    await waitForChange(changes, waited, signal, isChanged);
    return await show();
  });
};

function showList(c: RequestContext, content: ListContent): Response {
  return showPage(c, {
    title: "Runs",
    aside: <Tools {...content} />,
    body: (
      <>
        <Done c={c} />
        <RejectedBanner {...content.rejected} />
        <List {...content} />
      </>
    ),
    ...(isLiveList(content.filters) ? { reloadSeconds: TAIL_RELOAD_SECONDS } : {}),
  });
}

type ListContent = Awaited<ReturnType<typeof loadList>>;

async function loadList(
  deps: AppDeps,
  c: RequestContext,
  filters: RunListQuery,
  request: RunsRequest,
  seen: TailCursor | null,
) {
  const { team } = c.get("principal");
  const nowMs = deps.environment.now();
  // Read the number first: the next request then reports changes made in between.
  const change = isLiveList(filters) ? await deps.changes.last(team.id) : 0;
  const [page, rejected, target] = await Promise.all([
    deps.runList.page(team, request.query, request.after, request.limit),
    countRejected(deps, team.id, nowMs),
    commandTarget(deps, c),
  ]);
  // `fresh` are the runs that the browser has not shown yet.
  const fresh = newOf(page.rows, seen);
  return { filters, request, page, rejected, fresh, nowMs, target, change };
}

/** Renders a rejected query as the form with the error at its field. */
function renderRefused(filters: RunListQuery): Refuse {
  return (c, problem, headers) => {
    const body = (
      <>
        <FilterForm filters={filters} problem={problem} />
        <Chips filters={filters} />
        <p>
          <a href={listPath(new Map())}>Show all runs</a>
        </p>
      </>
    );
    return showPage(c, { title: "Runs", body, problem }, headers);
  };
}

/** Links that make the list live, and that export it. */
function Tools({ filters, fresh }: ListContent) {
  const file = { limit: null };
  return (
    <div class="tools">
      {isLiveList(filters)
        ? (
          <>
            <span class="live">
              <Icon name="run" /> Live
            </span>
            <a class="btn" href={listPath(filters)}>Pause</a>
            <span id="news" class="news" role="status">
              {fresh.size > 0 && `${fresh.size} new`}
            </span>
          </>
        )
        : <a class="btn" href={listPath(filters, { live: "1" })}>Live</a>}
      <span class="joined" role="group" aria-label="Export">
        <a class="btn" href={listPath(filters, file, ".csv")} download="">CSV</a>
        <a class="btn" href={listPath(filters, file, ".ndjson")} download="">NDJSON</a>
      </span>
    </div>
  );
}

function List(content: ListContent) {
  const { filters, page: { rows, next } } = content;
  return (
    <>
      <FilterForm filters={filters} problem={null} />
      <Chips filters={filters} />
      <WindowNote {...content} />
      <Wide label="Runs">
        <div id="runs" {...followed(content)}>
          {rows.length > 0
            ? <RunsTable {...content} rows={rows} />
            : <EmptyRunList {...content} goesOn={next !== null} />}
        </div>
      </Wide>
      <Onward {...content} />
    </>
  );
}

/**
 * Returns the htmx attributes that reload the list: at most one request every 2 s, which waits for
 * a change. A failed or disconnected request changes nothing, and the next one is sent.
 */
function followed({ filters, change, page: { rows } }: ListContent): Record<string, string> {
  if (!isLiveList(filters)) return {};
  return {
    "hx-get": listPath(filters, { live: "1", ...tailCursorText(change, rows) }),
    "hx-trigger": "every 2s",
    "hx-sync": "this:drop",
    "hx-select": "#runs",
    "hx-select-oob": "#news:innerHTML,#onward",
    "hx-swap": "outerHTML",
    "hx-request": JSON.stringify({ timeout: 2 * TAIL_WAIT_MS }),
  };
}

/** Shown if the API searched only the latest hours. */
function WindowNote({ filters, request: { query, isWindowDefault }, nowMs }: ListContent) {
  if (!isWindowDefault || query.from === null) return null;
  const from = formatInstant(nowMs - 7 * 86_400_000).slice(0, 10);
  return (
    <p class="soft">
      Only runs since <Ago at={query.from} now={nowMs} />{" "}
      are searched, one by one, because no index answers this query. To search further back, set
      {" "}
      <b>From</b>:{" "}
      <a href={listPath(filters, { from, ...liveParameter(filters) })}>the last 7 days</a>.
    </p>
  );
}

/** Shows how far back the search went, and links to the next page. */
function Onward({ filters, request, page: { next, searchedTo }, nowMs }: ListContent) {
  const { query, isWindowDefault } = request;
  const cursor = next === null ? null : runsCursorText(next, isWindowDefault ? query.from : null);
  const to = cursor === null ? null : listPath(filters, { cursor });
  return (
    <div id="onward">
      {to === null || searchedTo === null ? <NextPage to={to} /> : (
        <p>
          Searched back to <Ago at={searchedTo} now={nowMs} />{" "}
          (<code>{formatInstant(searchedTo)}</code>) and stopped there, because too many runs did
          not match. <a href={to} rel="next">Continue from there</a>
        </p>
      )}
      {filters.has("cursor") && (
        <p>
          <a href={listPath(filters)}>Back to the newest</a>
        </p>
      )}
    </div>
  );
}

/** The run list and its exports. */
export const runsPage: DashboardPage = {
  path: RUNS_PATH,
  menu: { name: "Runs", area: "main" },
  access: teamKey("read"),
  handler: showRuns,
  routes: [
    get(`${RUNS_PATH}.csv`, exportCsv),
    get(`${RUNS_PATH}.ndjson`, exportNdjson),
  ],
};
