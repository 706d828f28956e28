/** `/dashboard/runs`: the runs of a team, newest first, with the filters of `GET /v1/runs`. */
import { useContext } from "hono/jsx";
import { Refused, unlessRefused } from "../../../domain/core/errors.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { isRunId } from "../../../domain/core/ids.ts";
import { changeCursor, parseChangeCursor } from "../../api/feed/changes.ts";
import { exportRuns } from "../../api/exports/exports.ts";
import { runsCursorText } from "../../api/runs/run_list.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import { isSessionStillLive } from "../../http/credential.ts";
import { queryOf } from "../../http/query.ts";
import { waitForChange } from "../../http/wait_for_change.ts";
import { Ago, Done, KeyValues, Menu, reloading, TimeContext } from "../components/elements.tsx";
import { FormProblem } from "../components/form_fields.tsx";
import { Icon } from "../components/icons.tsx";
import { type DashboardPage, get, type PageHandler, seeOther, showPage } from "../layout/page.tsx";
import { DASHBOARD_PATH, RUNS_PATH } from "../layout/paths.ts";
import { RejectedBanner } from "../refusals/page.tsx";
import { comparePath } from "../run/paths.ts";
import { FilterBar } from "./filters.tsx";
import { inLabels, ListQuery, parseListQuery } from "./query.ts";
import { loadRuns, type RunsData } from "./runs_load.ts";
import { captionOf, sumsText, valueCounts } from "./runs_view.ts";
import { EmptyList, PICKED, RunsTable } from "./table.tsx";

/**
 * Maximum milliseconds that a request waits for a change; then it renders the page anyway, with
 * current times.
 */
const TAIL_WAIT_MS = 15_000;

/** Seconds between reloads in a browser without scripts. */
const TAIL_RELOAD_SECONDS = 5;

/** Shows the list. A live page sends the change it has shown, and the request waits for another. */
const showRuns: PageHandler = async (visit) => {
  const { c, deps, team: { id } } = visit;
  const { admission, changes, environment } = deps;
  const query = new ListQuery(queryOf(c));
  const readRequest = () => parseListQuery(queryOf(c), environment.now());
  const request = unlessRefused(readRequest, (problem) => {
    visit.onProblem((problem) => ({
      title: "Runs",
      body: [
        <FilterBar query={query} counts={new Map()} />,
        <FormProblem problem={inLabels(problem)} fields={[]} />,
        <p>
          <a href={RUNS_PATH}>Show all runs</a>
        </p>,
      ],
    }));
    throw new Refused(problem);
  });
  const shown = query.isLive ? parseChangeCursor(query.get("seen") ?? "") : null;
  const show = async () => {
    const data = await loadRuns(visit, query, request);
    return showPage(c, {
      title: "Runs",
      // The sums are not of a filtered list.
      subtitle: query.isOnlyPreset && sumsText(data),
      aside: <Tools query={query} />,
      body: [
        <Done c={c} />,
        <RejectedBanner {...data.rejected} />,
        <FilterBar query={query} counts={valueCounts(data)} />,
        <List data={data} />,
        <Keys />,
      ],
      ...query.isLive ? { reloadSeconds: TAIL_RELOAD_SECONDS } : {},
    });
  };
  // Without a free slot the page polls instead.
  if (shown === null || !admission.longPolls.hasFreeSlot(id)) return await show();
  return await admission.park(c, TAIL_WAIT_MS, async (signal) => {
    const isChanged = async () => await changes.last(id) !== shown;
    await waitForChange(changes, { team: id, run: null }, signal, isChanged);
    return await show();
  });
};

/** Links that make the list live, and that export it. */
function Tools({ query }: { readonly query: ListQuery }) {
  return (
    <>
      {query.isLive && [
        <span id="news" class="news" role="status" />,
        <span class="live">
          <Icon name="run" /> Live
        </span>,
      ]}
      <a class="btn" href={query.path({ live: query.isLive ? null : "1" })}>
        {query.isLive ? "Pause" : "Live"}
      </a>
      <Menu button="btn" label="Export">
        {EXPORTS.map(([form, name]) => <a href={query.exportPath(form)} download="">{name}</a>)}
      </Menu>
    </>
  );
}

/** Formats of exports, with their names. */
const EXPORTS = [["csv", "CSV"], ["ndjson", "NDJSON"]] as const;

/** Path of the form of the ticked runs. */
const PICKED_PATH = `${DASHBOARD_PATH}/compare`;

/** Compares the two runs that were ticked; their number is not checked without a script. */
const comparePicked: PageHandler = ({ c }) => {
  const ids = c.req.queries("run") ?? [];
  const [a, b] = ids.filter(isRunId);
  if (ids.length === 0) return seeOther(RUNS_PATH);
  if (a && b && ids.length === 2) return seeOther(comparePath(a, b));
  const message = "Two runs can be compared: go back and tick exactly two";
  return fail(c, { code: "invalid_field", message, field: "run" });
};

function List({ data }: { readonly data: RunsData }) {
  return (
    <div class="panel">
      <div id="runs" {...followed(data)}>
        {data.page.rows.length > 0 ? <RunsTable data={data} /> : <EmptyList data={data} />}
      </div>
      <form id={PICKED} class="picked" method="get" action={PICKED_PATH}>
        <b role="status">selected</b>
        <button type="submit" class="btn small main">Compare</button>
        {EXPORTS.map(([form, name]) => (
          <button type="submit" class="btn small" formaction={`${RUNS_PATH}.${form}`}>
            Export {name}
          </button>
        ))}
        <button type="reset" class="btn small plain">Clear</button>
      </form>
      <Foot data={data} />
    </div>
  );
}

/**
 * Returns the htmx attributes that reload the list: at most one request every 2 s, which waits for
 * a change. A failed or disconnected request changes nothing, and the next one is sent.
 */
function followed({ query, change }: RunsData) {
  if (!query.isLive) return {};
  const path = query.path({ open: query.getAll("open"), seen: changeCursor(change) });
  const timeout = JSON.stringify({ timeout: 2 * TAIL_WAIT_MS });
  return { ...reloading("runs", path, 2, "#foot"), "hx-request": timeout };
}

/** Says how many runs the page has and how far back a search went, with the link to the next page. */
function Foot({ data }: { readonly data: RunsData }) {
  const { query, request, page: { rows, next, searchedTo } } = data;
  const from = request.isWindowDefault ? request.query.from : null;
  const older = next && query.path({ cursor: runsCursorText(next, from) });
  return (
    <div id="foot" class="list-foot">
      {rows.length > 0 && <span>{captionOf(data)}</span>}
      {from !== null && (
        <span>
          No index answers this query: searched since <Ago at={from} />, or{" "}
          <a href={query.path({ since: "7d" })}>in the last 7 days</a>
        </span>
      )}
      {searchedTo !== null && (
        <span>
          Searched back to <Ago at={searchedTo} /> (<code>{formatInstant(searchedTo)}</code>)
        </span>
      )}
      {query.has("cursor") && <a class="btn small" href={query.path()}>Newest</a>}
      {older !== null && (
        <a class="btn small" href={older} rel="next">
          {searchedTo === null ? "Older" : "Search further back"}
        </a>
      )}
      <span class="zone">
        Times in <span data-zone-name>{useContext(TimeContext).zone}</span>
      </span>
      <span class="keys-hint">
        <kbd>j</kbd> <kbd>k</kbd> move <kbd>x</kbd> select <kbd>?</kbd> all keys
      </span>
    </div>
  );
}

/** Keys by what they do. */
const KEYS: readonly (readonly [text: string, ...keys: string[]])[] = [
  ["Search the list", "/"],
  ["Next and previous row", "j", "k"],
  ["Open the row", "Enter"],
  ["Select the row", "x"],
  ["Leave the field, clear the selection", "Esc"],
  ["Search everything", "Ctrl", "K"],
];

/** The dialog of the `?` key. */
function Keys() {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keyboard shortcuts</h2>
      <KeyValues
        pairs={KEYS.map(([text, ...keys]) => [text, keys.map((key) => <kbd>{key}</kbd>)])}
      />
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
    ...EXPORTS.map(([form]) => {
      const send = exportRuns(form, isSessionStillLive);
      return get(`${RUNS_PATH}.${form}`, ({ c, deps, principal }) => send(c, deps, principal));
    }),
    get(PICKED_PATH, comparePicked),
  ],
};
