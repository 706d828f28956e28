/** `/dashboard/runs/:id`: one run, its events, its result and its cost. */
import type { Handler } from "../../http/admission.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { answerRun, NO_SUCH_RUN, parseEventsPage } from "../../api/runs/runs.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { RUNS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { originOf } from "../components/origin.ts";
import { Copyable, Section } from "../components/elements.tsx";
import { ConfirmDeletion, OfferDeletion, submitDeletion } from "./delete_run.tsx";
import { Glance, RunLabelList } from "./details.tsx";
import { Failure } from "./failure.tsx";
import { type LoadedRun, loadRun } from "./load.ts";
import { renderRunNotFound } from "./not_found.tsx";
import { pagePath, rawPath } from "./paths.ts";
import {
  CostSection,
  MetadataTable,
  OutputSection,
  Relatives,
  Scores,
  Stages,
} from "./results.tsx";
import { chunkName, Timeline } from "./timeline.tsx";

/** Seconds between reloads of the page of a changing run. */
const RELOAD_SECONDS = 3;

const showRun: Handler = async (c, deps) => {
  c.set("renderProblem", renderRunNotFound);
  const events = parseEventsPage(queryOf(c));
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, NO_SUCH_RUN);
  if (!events.ok) return fail(c, events.problem);
  const loaded = await loadRun(deps, c.get("principal"), id.value, events.value);
  if (loaded === null) return fail(c, NO_SUCH_RUN);
  const { event = null, confirm } = c.req.query();
  const confirms = confirm === "delete" && loaded.isAdmin;
  const { run, isLive } = loaded;
  return showPage(c, {
    title: run.agent === null ? "A run without its opening" : `Run of ${run.agent}`,
    body: <RunBody {...loaded} opened={event} confirms={confirms} origin={originOf(c)} />,
    ...(isLive && !confirms ? { reloadSeconds: RELOAD_SECONDS } : {}),
  });
};

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
  /** Id of the event that is opened. */
  readonly opened: string | null;
  /** True to ask for confirmation of the deletion. */
  readonly confirms: boolean;
  /** Origin of the service as the browser sees it. */
  readonly origin: string;
}

function RunBody(props: RunPageProps) {
  const { run } = props;
  // Name of the link, id of the section, and the section.
  const results = [
    ["Output", "output", OutputSection(props)],
    ["Scores", "scores", Scores(props)],
    [run.cost.models.length > 0 && "Cost", "cost", CostSection(props)],
    ["Metadata", "metadata", MetadataTable(props)],
    ["Parent and children", "family", Relatives(props)],
    ["Processing", "processing", Stages(props)],
  ] as const;
  const links = results.filter(([name, , content]) => name && content !== null);
  const goal = run.opening?.goal;
  return (
    <>
      {props.confirms && <ConfirmDeletion {...props} />}
      <div id="facts" {...following(props)}>
        <Failure {...props} />
        <Glance {...props} />
        {goal !== undefined && (
          <p class="goal" tabindex={0}>
            <span class="soft">Goal:</span> {goal}
          </p>
        )}
        <RunLabelList {...props} />
        <nav class="contents" aria-label="On this page">
          <a href="#timeline">Timeline</a>
          {links.map(([name, id]) => <a href={`#${id}`}>{name}</a>)}
          <a href="#elsewhere">JSON and curl</a>
        </nav>
      </div>
      <Timeline {...props} />
      <div id="results">{results.map(([, , content]) => content)}</div>
      <Elsewhere {...props} />
    </>
  );
}

/** Returns the htmx attributes that reload the changing parts of a live run. */
function following(props: RunPageProps): Record<string, string> {
  const { run, page, after, isLive, confirms } = props;
  if (!isLive || confirms) return {};
  // A full page of events has no room for new ones.
  const events = page.next === null ? [`#${chunkName(props)}`] : [];
  return {
    "hx-get": pagePath(run.id, after),
    "hx-trigger": `every ${RELOAD_SECONDS}s`,
    "hx-swap": "none",
    "hx-select-oob": ["#facts", "#results", ...events].join(","),
  };
}

/** The run as JSON for programs, and the link that deletes it. */
function Elsewhere(props: RunPageProps) {
  const { origin, run: { id } } = props;
  return (
    <Section id="elsewhere" title="The same as JSON">
      <p>
        <a href={rawPath(id)}>Show the JSON</a>, or ask for it with a key of the team:
      </p>
      <Copyable id="curl" text={`curl -sS -u "$RUNLEDGER_KEY:" "${origin}/v1/runs/${id}"`} />
      <OfferDeletion {...props} />
    </Section>
  );
}

/** The page of a run. */
export const runPage: DashboardPage = {
  path: `${RUNS_PATH}/:id`,
  access: teamKey("read"),
  handler: showRun,
  routes: [
    get(`${RUNS_PATH}/:id/raw`, showRawRun),
    post(`${RUNS_PATH}/:id/delete`, submitDeletion, teamKey("admin")),
  ],
};
