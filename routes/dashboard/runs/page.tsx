/** `/dashboard/runs`: the runs of a team, newest first, with the filters of `GET /v1/runs`. */
import { useContext } from "hono/jsx";
import { formatInstant } from "../../../domain/core/time.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { exportRuns } from "../../api/exports/exports.ts";
import { runsCursorText } from "../../api/runs/run_list.ts";
import { teamKey } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import type { Refuse } from "../../http/context.ts";
import { isSessionStillLive } from "../../http/credential.ts";
import { queryOf } from "../../http/query.ts";
import { waitForChange } from "../../http/wait_for_change.ts";
import { Done } from "../components/elements.tsx";
import { countedText } from "../components/format.ts";
import { FormProblem } from "../components/form_fields.tsx";
import { Icon } from "../components/icons.tsx";
import { Ago, TimeContext } from "../components/time.tsx";
import { type DashboardPage, get } from "../layout/page.ts";
import { DASHBOARD_PATH, RUNS_PATH } from "../layout/paths.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { RejectedBanner } from "../refusals/page.tsx";
import { comparePath } from "../run/paths.ts";
import { FilterBar } from "./filters.tsx";
import {
  exportPath,
  isLiveList,
  isOnlyPreset,
  listPath,
  type ListQuery,
  parseListQuery,
  readListQuery,
} from "./query.ts";
import { loadRuns, type RunsData } from "./runs_load.ts";
import { rowsOf, sumsText, valueCounts } from "./runs_view.ts";
import { EmptyList, PICKED, RunsTable } from "./table.tsx";
import { TAIL_RELOAD_SECONDS, TAIL_WAIT_MS, tailCursorOf, tailCursorText } from "./tail.ts";

/** Shows the list. A live page sends what it has seen, and the request waits for a change. */
const showRuns: Handler = async (c, deps) => {
  const { admission, changes, environment } = deps;
  const query = readListQuery(queryOf(c));
  const request = parseListQuery(queryOf(c), environment.now());
  if (!request.ok) {
    c.set("renderProblem", renderRefused(query));
    return fail(c, request.problem);
  }
  const { id } = c.get("principal").team;
  const seen = isLiveList(query) ? tailCursorOf(query) : null;
  const show = async () => {
    const data = await loadRuns(deps, c, query, request.value, seen);
    return showPage(c, {
      title: "Runs",
      lead: <Sums {...data} />,
      aside: <Tools {...data} />,
      body: (
        <>
          <Done c={c} />
          <RejectedBanner {...data.rejected} />
          <List data={data} />
        </>
      ),
      ...(isLiveList(query) ? { reloadSeconds: TAIL_RELOAD_SECONDS } : {}),
    });
  };
  // Without a free slot the page polls instead.
  if (seen === null || !admission.longPolls.hasRoom(id)) return await show();
  return await admission.park(c, TAIL_WAIT_MS, async (signal) => {
    const waited = { team: id, run: null };
    const isChanged = async () => await changes.last(id) !== seen.change;
    await waitForChange(changes, waited, signal, isChanged);
    return await show();
  });
};

/** Renders a rejected query as its filters with the reason. */
function renderRefused(query: ListQuery): Refuse {
  return (c, problem, headers) => {
    const body = (
      <>
        <FilterBar query={query} counts={new Map()} />
        <FormProblem problem={problem} fields={[]} />
        <p>
          <a href={RUNS_PATH}>Show all runs</a>
        </p>
      </>
    );
    return showPage(c, { title: "Runs", body, problem }, headers);
  };
}

/** Sums of the days of the counts, in one sentence; they are not of a filtered list. */
function Sums(data: RunsData) {
  const text = sumsText(data);
  return text === null || !isOnlyPreset(data.query) ? null : <>{text}</>;
}

/** Links that make the list live, and that export it. */
function Tools({ query, fresh }: RunsData) {
  return (
    <>
      {isLiveList(query)
        ? (
          <>
            <span id="news" class="news" role="status">
              {fresh.size > 0 && `${fresh.size} new`}
            </span>
            <span class="live">
              <Icon name="run" /> Live
            </span>
            <a class="btn" href={listPath(query, { live: null })}>Pause</a>
          </>
        )
        : <a class="btn" href={listPath(query, { live: "1" })}>Live</a>}
      <details class="menu">
        <summary class="btn">Export</summary>
        <div>
          <a href={exportPath(query, "csv")} download="">CSV</a>
          <a href={exportPath(query, "ndjson")} download="">NDJSON</a>
        </div>
      </details>
    </>
  );
}

/** Path of the form that compares the runs that are ticked. */
const PICKED_PATH = `${DASHBOARD_PATH}/compare`;

/** Compares the two runs that were ticked; their number is not checked without a script. */
const comparePicked: Handler = (c) => {
  const ids = (c.req.queries("run") ?? []).map(parseRunId);
  const [a, b] = ids;
  if (a === undefined) return seeOther(RUNS_PATH);
  if (a?.ok && b?.ok && ids.length === 2) return seeOther(comparePath(a.value, b.value));
  const message = "Two runs can be compared: go back and tick exactly two";
  return fail(c, { code: "invalid_field", message, field: "run" });
};

function List({ data }: { readonly data: RunsData }) {
  const { query, page } = data;
  return (
    <>
      <FilterBar query={query} counts={valueCounts(data)} />
      <div class="panel">
        <div id="runs" {...followed(data)}>
          {page.rows.length > 0
            ? <RunsTable rows={rowsOf(data)} query={query} caption={captionOf(data)} />
            : <EmptyList {...data} />}
        </div>
        <form id={PICKED} class="picked" method="get" action={PICKED_PATH}>
          <b role="status">selected</b>
          <button type="submit" class="btn small main">Compare</button>
          <button type="reset" class="btn small plain">Clear</button>
        </form>
        <Foot {...data} />
      </div>
      <Keys />
    </>
  );
}

/**
 * Returns the htmx attributes that reload the list: at most one request every 2 s, which waits for
 * a change. A failed or disconnected request changes nothing, and the next one is sent.
 */
function followed({ query, change, page: { rows } }: RunsData): Record<string, string> {
  if (!isLiveList(query)) return {};
  return {
    "hx-get": listPath(query, { open: query.getAll("open"), ...tailCursorText(change, rows) }),
    "hx-trigger": "every 2s",
    "hx-sync": "this:drop",
    "hx-select": "#runs",
    "hx-select-oob": "#news:innerHTML,#foot",
    "hx-swap": "outerHTML",
    "hx-request": JSON.stringify({ timeout: 2 * TAIL_WAIT_MS }),
  };
}

/** Says how many runs the page has, and of all only if these are all. */
function captionOf({ query, request, page: { rows, next } }: RunsData): string {
  const runs = countedText(rows.length, request.query.isRoot ? "root run" : "run");
  const isAll = next === null && !query.has("cursor");
  const all = rows.length === 1 ? runs : `All ${runs}, newest first`;
  return isAll ? all : `${runs} on this page, newest first`;
}

/** Says how many runs the page has and how far back a search went, with the link to the next page. */
function Foot(data: RunsData) {
  const { query, request, page: { rows, next, searchedTo }, nowMs } = data;
  const { from } = request.query;
  const { isWindowDefault } = request;
  const cursor = next === null ? null : runsCursorText(next, isWindowDefault ? from : null);
  const to = cursor === null ? null : listPath(query, { cursor });
  return (
    <div id="foot" class="list-foot">
      {rows.length > 0 && <span>{captionOf(data)}</span>}
      {isWindowDefault && from !== null && (
        <span>
          No index answers this query: searched since <Ago at={from} now={nowMs} />, or{" "}
          <a href={listPath(query, { since: "7d" })}>in the last 7 days</a>
        </span>
      )}
      {searchedTo !== null && (
        <span>
          Searched back to <Ago at={searchedTo} now={nowMs} />{" "}
          (<code>{formatInstant(searchedTo)}</code>)
        </span>
      )}
      {query.has("cursor") && <a class="btn small" href={listPath(query)}>Newest</a>}
      {to !== null && (
        <a class="btn small" href={to} rel="next">
          {searchedTo === null ? "Older" : "Search further back"}
        </a>
      )}
      <Zone />
      <span class="keys-hint">
        <kbd>j</kbd> <kbd>k</kbd> move <kbd>x</kbd> select <kbd>?</kbd> all keys
      </span>
    </div>
  );
}

/** Says once for the page in which zone its times are. */
function Zone() {
  const { zone } = useContext(TimeContext);
  return (
    <span class="zone">
      Times in <span data-zone-name>{zone}</span>
    </span>
  );
}

const KEYS = [
  [["/"], "Search the list"],
  [["j", "k"], "Next and previous row"],
  [["Enter"], "Open the row"],
  [["x"], "Select the row"],
  [["Esc"], "Leave the field, clear the selection"],
  [["Ctrl", "K"], "Search everything"],
] as const;

/** The dialog of the `?` key. */
function Keys() {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keyboard shortcuts</h2>
      <dl>
        {KEYS.map(([keys, text]) => (
          <>
            <dt>{keys.map((key) => <kbd>{key}</kbd>)}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
    </dialog>
  );
}

/** The run list, its exports, and the form that compares two of its runs. */
export const runsPage: DashboardPage = {
  path: RUNS_PATH,
  menu: { name: "Runs", area: "main" },
  access: teamKey("read"),
  handler: showRuns,
  routes: [
    get(`${RUNS_PATH}.csv`, exportRuns("csv", isSessionStillLive)),
    get(`${RUNS_PATH}.ndjson`, exportRuns("ndjson", isSessionStillLive)),
    get(PICKED_PATH, comparePicked),
  ],
};
