/** `/dashboard/runs/:id`: one run as a trace, its result and its cost. */
import { unlessRefused } from "../../../domain/core/errors.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { answerRun, NO_SUCH_RUN, parseEventsPage } from "../../api/runs/runs.ts";
import {
  answerVisit,
  type DashboardPage,
  get,
  type PageHandler,
  post,
  seeOther,
} from "../layout/page.tsx";
import { assetPath } from "../layout/assets.ts";
import { runPath, RUNS_PATH } from "../layout/paths.ts";
import { TOMBSTONE_DAYS } from "../../../domain/retention/retention.ts";
import { deleteNamedRun } from "../../api/deletions/deletions.ts";
import { confirmedIn, ConfirmForm } from "../components/table.tsx";
import { countedText, originOf } from "../components/format.ts";
import { Crumbs, DELETED, Menu } from "../components/elements.tsx";
import { RunState } from "../components/run_state.tsx";
import { CheckResults, Facts, Failure } from "./facts.tsx";
import { showComparison } from "./compare_page.tsx";
import { listOf, loadRun } from "./run_load.ts";
import { rawPath, STEP_KINDS, tracePath, type TraceView } from "./paths.ts";
import { Results, RunLabelList } from "./results.tsx";
import { runView, type ViewProps } from "./run_view.ts";
import { isFailure, shortId, silenceOf, titleOf } from "./texts.ts";
import { StepPanel } from "./step_panel.tsx";
import { Waterfall } from "./waterfall.tsx";
import { renderRunNotFound } from "./not_found.tsx";

/** Seconds between reloads of the page of a changing run. */
const RELOAD_SECONDS = 3;

/** Maximum characters of a text to find. */
const TEXT_CHARS = 100;

const showRun: PageHandler = async (visit) => {
  const { c } = visit;
  c.set("renderProblem", renderRunNotFound);
  const id = unlessRefused(() => parseRunId(c.req.param("id") ?? ""), () => null);
  if (id === null) return fail(c, NO_SUCH_RUN);
  const view = readView(c, parseEventsPage(queryOf(c)).after);
  const data = await loadRun(visit, id, view);
  if (data === null) return fail(c, NO_SUCH_RUN);
  const { run, isAdmin, isLive } = data;
  const confirms = isAdmin && confirmedIn(c, "delete") !== null;
  const isFollowed = isLive && !confirms;
  const trace = runView(data);
  return {
    title: titleOf(data),
    // The failure box says why a failed run ended.
    subtitle: [<RunState run={run} />, " ", isFailure(run.status) ? null : silenceOf(run)],
    crumbs: <RunCrumbs data={data} />,
    body: [
      confirms && <ConfirmDeletion data={data} />,
      <RunBody data={data} trace={trace} isFollowed={isFollowed} origin={originOf(c)} />,
    ],
    ...(isFollowed ? { reloadSeconds: RELOAD_SECONDS } : {}),
  };
};

/** Reads the view from the query; unreadable values count as absent. */
function readView(c: RequestContext, after: TraceView["after"]): TraceView {
  const { event = null, in: inRun = null, open = null, kind, failed, text = "" } = c.req.query();
  return {
    ...{ after, open, event, inRun, list: listOf(c) },
    kind: STEP_KINDS.find((name) => name === kind) ?? null,
    failed: failed === "1",
    text: text.trim().slice(0, TEXT_CHARS),
  };
}

/** Responds with the record that the API returns, to read in a browser. */
const showRawRun: PageHandler = async ({ c, deps }) => {
  c.set("renderProblem", renderRunNotFound);
  const response = await answerRun(c, deps);
  if (response.status !== 200) return response;
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  response.headers.set("Cache-Control", "no-store");
  return response;
};

interface BodyProps extends ViewProps {
  /** True if the page follows the changes of the run. */
  readonly isFollowed: boolean;
  /** Origin of the service as the browser sees it. */
  readonly origin: string;
}

function RunBody({ data, trace, isFollowed, origin }: BodyProps) {
  const { run, view } = data;
  const following = isFollowed && {
    "hx-get": tracePath(run.id, view),
    "hx-trigger": `every ${RELOAD_SECONDS}s`,
    "hx-swap": "none",
    "hx-select-oob": "#facts,#steps,#results",
  };
  return (
    <>
      <div id="facts" class="run-facts" {...following}>
        <RunLabelList run={run} traits={data.traits} />
        <Failure data={data} trace={trace} />
        <Facts data={data} trace={trace} />
        <CheckResults run={run} checkIds={data.checkIds} obstacles={data.obstacles} />
      </div>
      <section id="timeline" class="panel trace" aria-labelledby="timeline-title">
        <Waterfall data={data} trace={trace} />
        <StepPanel data={data} trace={trace} />
      </section>
      <Results data={data} origin={origin} />
      <script src={assetPath("trace.js")} defer />
    </>
  );
}

/** The way to this page, to the runs before and after it, and what can be done with it. */
function RunCrumbs({ data: { run, neighbours, isAdmin } }: Pick<ViewProps, "data">) {
  const { name, path } = neighbours ?? { name: shortId(run.id), path: runPath(run.id) };
  const step = (name: string, rel: string, key: string, to: string | null) =>
    to === null
      ? <span class="btn small" aria-disabled="true">{name}</span>
      : <a class="btn small" rel={rel} href={to} data-key={key}>{name}</a>;
  return (
    <div class="crumbs">
      <Crumbs links={[["Runs", RUNS_PATH], [name, path]]} />
      <div class="end">
        {neighbours !== null && [
          neighbours.place !== null && <span class="num">{neighbours.place}</span>,
          <span class="joined">
            {step("Previous", "prev", "[", neighbours.previous)}
            {step("Next", "next", "]", neighbours.next)}
          </span>,
        ]}
        <Menu button="btn icon small" label={["⋯", <span class="sr">More actions</span>]}>
          <a href={rawPath(run.id)}>Show the JSON</a>
          {isAdmin
            ? <a href={`${runPath(run.id)}?confirm=delete`}>Delete this run…</a>
            : <p>Deleting a run takes a key with the scope admin.</p>}
        </Menu>
      </div>
    </div>
  );
}

/** Deletes the run and redirects to the list. */
const submitDeletion: PageHandler = async ({ c, deps }) => {
  c.set("renderProblem", renderRunNotFound);
  await deleteNamedRun(deps, c);
  return seeOther(RUNS_PATH + DELETED);
};

/** Shows what the deletion removes, and asks for confirmation. */
function ConfirmDeletion({ data: { run: { id, usage } } }: Pick<ViewProps, "data">) {
  return (
    <ConfirmForm
      title="Delete this run?"
      action={`${runPath(id)}/delete`}
      submit="Delete it"
      cancelTo={runPath(id)}
    >
      <p>
        It is deleted with its{" "}
        {countedText(usage.events, "event")}, output and scores, and leaves the spend. This cannot
        be undone. For {TOMBSTONE_DAYS}{" "}
        days its id is refused, so that a client that still sends does not bring it back.
      </p>
    </ConfirmForm>
  );
}

/** Limits how many pages of a team hold events at the same time, until they are rendered. */
function inSlot(show: PageHandler): PageHandler {
  return (visit) => visit.deps.admission.showRun(visit.c, () => answerVisit(visit, show));
}

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
