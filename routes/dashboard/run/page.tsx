/** `/dashboard/runs/:id`: one run as a trace, its result and its cost. */
import type { Handler } from "../../http/admission.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { answerRun, NO_SUCH_RUN, parseEventsPage } from "../../api/runs/runs.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { assetPath } from "../layout/assets.ts";
import { RUNS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { countedText, formatCount, originOf } from "../components/format.ts";
import { Copyable } from "../components/elements.tsx";
import { CheckResults } from "./checks.tsx";
import { showComparison } from "./compare_page.tsx";
import { ConfirmDeletion, OfferDeletion, submitDeletion } from "./delete_run.tsx";
import { FoldedSection, Instants, RunLabelList } from "./details.tsx";
import { Facts } from "./facts.tsx";
import { Failure } from "./failure.tsx";
import { RunLead } from "./lead.tsx";
import { type LoadedRun, loadRun } from "./load.ts";
import { findNeighbours, listOf, type ListPlace, type Neighbours } from "./neighbours.ts";
import { renderRunNotFound } from "./not_found.tsx";
import { rawPath, STEP_KINDS, tracePath, type TraceView } from "./paths.ts";
import {
  CostSection,
  MetadataTable,
  OutputSection,
  Relatives,
  Scores,
  Stages,
} from "./results.tsx";
import { shortId, titleOf } from "./title.ts";
import { StepPanel } from "./step_panel.tsx";
import { type Trace, traceOf } from "./trace.ts";
import { Waterfall } from "./waterfall.tsx";

/** Seconds between reloads of the page of a changing run. */
const RELOAD_SECONDS = 3;

/** Maximum characters of a text to find. */
const TEXT_CHARS = 100;

/** Maximum rows to skip. */
const SKIP_MAX = 10_000;

const showRun: Handler = async (c, deps) => {
  c.set("renderProblem", renderRunNotFound);
  const events = parseEventsPage(queryOf(c));
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, NO_SUCH_RUN);
  if (!events.ok) return fail(c, events.problem);
  const principal = c.get("principal");
  const view = readView(c, events.value.after);
  const [loaded, neighbours] = await Promise.all([
    loadRun(deps, principal, id.value, view),
    findNeighbours(deps, principal.team, { id: id.value }, view.list),
  ]);
  if (loaded === null) return fail(c, NO_SUCH_RUN);
  const confirms = c.req.query("confirm") === "delete" && loaded.isAdmin;
  const { run, isLive } = loaded;
  const trace = traceOf(loaded);
  const props = { ...loaded, trace, confirms, neighbours, origin: originOf(c) };
  return showPage(c, {
    title: titleOf(loaded),
    lead: <RunLead run={run} />,
    crumbs: <Crumbs {...props} />,
    body: <RunBody {...props} />,
    ...(isLive && !confirms ? { reloadSeconds: RELOAD_SECONDS } : {}),
  });
};

/** Reads the view from the query; unreadable values count as absent. */
function readView(c: RequestContext, after: TraceView["after"]): TraceView {
  const query = c.req.query();
  const { event = null, in: inRun = null, open = null, kind, failed, text = "", skip } = query;
  const rows = Number(skip ?? 0);
  return {
    after,
    skip: Number.isSafeInteger(rows) && rows > 0 && rows <= SKIP_MAX ? rows : 0,
    event,
    inRun,
    open,
    kind: STEP_KINDS.find((name) => name === kind) ?? null,
    failed: failed === "1",
    text: text.trim().slice(0, TEXT_CHARS),
    list: listOf(c),
  };
}

/** Responds with the record that the API returns, to read in a browser. */
const showRawRun: Handler = async (c, deps) => {
  c.set("renderProblem", renderRunNotFound);
  const response = await answerRun(c, deps);
  if (response.status !== 200) return response;
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  response.headers.set("Cache-Control", "no-store");
  return response;
};

interface RunPageProps extends LoadedRun {
  readonly trace: Trace;
  readonly neighbours: Neighbours | null;
  /** True to ask for confirmation of the deletion. */
  readonly confirms: boolean;
  /** Origin of the service as the browser sees it. */
  readonly origin: string;
}

function RunBody(props: RunPageProps) {
  return (
    <>
      {props.confirms && <ConfirmDeletion {...props} />}
      <div id="facts" class="run-facts" {...following(props)}>
        <RunLabelList {...props} />
        <Failure {...props} />
        <Facts {...props} />
        <CheckResults {...props} />
      </div>
      <section id="timeline" class="panel trace" aria-labelledby="timeline-title">
        {isEmpty(props) ? <NoEvents {...props.run} /> : <Waterfall {...props} />}
        <StepPanel {...props} />
      </section>
      <div id="results" class="results">
        <OutputSection {...props} />
        <Scores {...props} />
        <CostSection {...props} />
        <MetadataTable {...props} />
        <Relatives {...props} />
        <Stages {...props} />
        <Instants {...props.run} />
        <Elsewhere {...props} />
      </div>
      <script src={assetPath("trace.js")} defer />
    </>
  );
}

function Crumbs({ run, view, neighbours, isAdmin }: RunPageProps) {
  const to = (id: string, list = view.list) => tracePath(id, { list });
  const { previous = null, next = null } = neighbours ?? {};
  return (
    <div class="crumbs">
      <nav aria-label="Breadcrumb">
        <ol>
          <li>
            <a href={RUNS_PATH}>Runs</a>
          </li>
          <li>
            {neighbours === null
              ? shortId(run.id)
              : <a href={neighbours.path}>{neighbours.name}</a>}
          </li>
        </ol>
      </nav>
      <div class="end">
        {neighbours !== null && (
          <>
            {neighbours.place !== null && <Place {...neighbours.place} />}
            <span class="joined">
              {previous === null
                ? <span class="btn small" aria-disabled="true">Previous</span>
                : <a class="btn small" rel="prev" href={to(previous)} data-key="[">Previous</a>}
              {next === null
                ? <span class="btn small" aria-disabled="true">Next</span>
                : (
                  <a class="btn small" rel="next" href={to(next, neighbours.nextList)} data-key="]">
                    Next
                  </a>
                )}
            </span>
          </>
        )}
        <details class="menu">
          <summary class="btn icon small" aria-label="More actions">⋯</summary>
          <div>
            <a href={rawPath(run.id)}>Show the JSON</a>
            <OfferDeletion run={run} isAdmin={isAdmin} />
          </div>
        </details>
      </div>
    </div>
  );
}

/** The place of a run in what was listed: the length of a list is known only where it ends. */
function Place({ at, of, hasMore, isFirst }: ListPlace) {
  const all = isFirst
    ? `${formatCount(of)}${hasMore ? "+" : ""}`
    : `${formatCount(of)} on the page`;
  return <span class="num">{formatCount(at)} of {all}</span>;
}

/** Returns whether a run has nothing to show in a waterfall. */
function isEmpty({ run, page, view, branches }: LoadedRun): boolean {
  const hasEvents = run.usage.events > 0 && (page.events.length > 0 || view.after !== null);
  return !hasEvents && branches.length === 0;
}

function NoEvents({ id, kind, usage }: LoadedRun["run"]) {
  return (
    <div class="steps-side" id="steps">
      <div class="wf-tools">
        <h2 id="timeline-title">Timeline</h2>
      </div>
      <p class="wf-none">
        {usage.events > 0
          ? `${
            countedText(usage.events, "event")
          } removed by age: the plan keeps payloads for a while. The totals are above.`
          : (
            <>
              {kind === "heartbeat" ? "A heartbeat has no events of its own. " : "No events yet. "}
              Model calls, tools and logs are shown here once they are sent to{" "}
              <code>POST /v1/runs/{id}/events</code>.
            </>
          )}
      </p>
    </div>
  );
}

/** Returns the htmx attributes that reload the changing parts of a live run. */
function following({ run, view, isLive, confirms }: RunPageProps): Record<string, string> {
  if (!isLive || confirms) return {};
  return {
    "hx-get": tracePath(run.id, view),
    "hx-trigger": `every ${RELOAD_SECONDS}s`,
    "hx-swap": "none",
    "hx-select-oob": "#facts,#steps,#results",
  };
}

/** The run as JSON for programs. */
function Elsewhere({ origin, run: { id } }: RunPageProps) {
  return (
    <FoldedSection id="elsewhere" title="The same as JSON">
      <p>Request it with a key of the team:</p>
      <Copyable id="curl" text={`curl -sS -u "$RUNLEDGER_KEY:" "${origin}/v1/runs/${id}"`} />
    </FoldedSection>
  );
}

/** Limits how many pages of a team hold events at the same time. */
function inSlot(show: Handler): Handler {
  return (c, deps) => deps.admission.showRun(c, async () => await show(c, deps));
}

/** The page of a run. */
export const runPage: DashboardPage = {
  path: `${RUNS_PATH}/:id`,
  access: teamKey("read"),
  handler: inSlot(showRun),
  routes: [
    get(`${RUNS_PATH}/:id/raw`, showRawRun),
    get(`${RUNS_PATH}/:id/compare`, inSlot(showComparison)),
    post(`${RUNS_PATH}/:id/delete`, submitDeletion, teamKey("admin")),
  ],
};
