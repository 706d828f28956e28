/** `/dashboard/runs/:id`: what a run did, how it ended, what it cost, and why. */
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { answerRun, NO_SUCH_RUN, parseEventsPage } from "../../api/runs/runs.ts";
import { showPage } from "../layout/reply.tsx";
import { originOf } from "../components/origin.ts";
import { Copyable } from "../components/elements.tsx";
import { ConfirmDeletion, OfferDeletion } from "./delete_run.tsx";
import { Glance, RunLabelList } from "./details.tsx";
import { Failure } from "./failure.tsx";
import { type LoadedRun, loadRun } from "./load.ts";
import { renderRunNotFound } from "./not_found.tsx";
import { pagePath, rawPath } from "./paths.ts";
import { Stages } from "./processing.tsx";
import { Relatives } from "./relatives.tsx";
import { CostSection, MetadataTable, Output, Scores } from "./results.tsx";
import { chunkName, Timeline } from "./timeline.tsx";

/** Seconds between two looks at a run that is about to change. */
const FOLLOW_SECONDS = 3;

/** What a page of a run says besides the run. */
interface Asked {
  /** The event that is opened. */
  readonly event: string | null;
  /** Whether deleting is to be confirmed. */
  readonly confirms: boolean;
  /** Where the service is, as the browser sees it. */
  readonly origin: string;
}

/** Shows a run with a page of its events. */
export function showRun(deps: AppDeps): Handle {
  return async (c) => {
    c.set("renderProblem", renderRunNotFound);
    const events = parseEventsPage(queryOf(c));
    const id = parseRunId(c.req.param("id") ?? "");
    if (!id.ok) return fail(c, NO_SUCH_RUN);
    if (!events.ok) return fail(c, events.problem);
    const shown = await loadRun(deps, c.get("principal"), id.value, events.value);
    if (shown === null) return fail(c, NO_SUCH_RUN);
    const asked = askedOf(c, shown);
    const { run, isLive } = shown;
    return showPage(c, {
      title: run.agent === null ? "A run without its opening" : `Run of ${run.agent}`,
      body: <RunPage shown={shown} asked={asked} />,
      ...(isLive && !asked.confirms ? { reloadSeconds: FOLLOW_SECONDS } : {}),
    });
  };
}

/** Answers with the record that the API answers, to look at in a browser. */
export function showRawRun(deps: AppDeps): Handle {
  return async (c) => {
    c.set("renderProblem", renderRunNotFound);
    const response = await answerRun(c, deps);
    if (response.status !== 200) return response;
    response.headers.set("X-Content-Type-Options", "nosniff");
    response.headers.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    response.headers.set("Cache-Control", "no-store");
    return response;
  };
}

function askedOf(c: RequestContext, { isAdmin }: LoadedRun): Asked {
  const { event, confirm } = c.req.query();
  return {
    event: event ?? null,
    confirms: confirm === "delete" && isAdmin,
    origin: originOf(c),
  };
}

interface Page {
  readonly shown: LoadedRun;
  readonly asked: Asked;
}

function RunPage({ shown, asked }: Page) {
  return (
    <>
      {asked.confirms ? <ConfirmDeletion shown={shown} /> : null}
      <div id="facts" {...following(shown, asked)}>
        <Failure shown={shown} />
        <Glance shown={shown} />
        {shown.run.goal === null ? null : (
          <p class="goal" tabindex={0}>
            <span class="soft">Goal:</span> {shown.run.goal}
          </p>
        )}
        <RunLabelList shown={shown} />
        <Contents shown={shown} />
      </div>
      <Timeline shown={shown} opened={asked.event} />
      <div id="results">
        <Output shown={shown} />
        <Scores shown={shown} />
        <CostSection shown={shown} />
        <MetadataTable shown={shown} />
        <Relatives shown={shown} />
        <Stages shown={shown} />
      </div>
      <Elsewhere shown={shown} asked={asked} />
    </>
  );
}

/** Has the browser look again at what may change, while something may. */
function following(shown: LoadedRun, { confirms }: Asked): Record<string, string> {
  const { run, page, after, isLive } = shown;
  if (!isLive || confirms) return {};
  // A full page of events has no place for new ones.
  const events = page.next === null ? [`#${chunkName({ after })}`] : [];
  return {
    "hx-get": pagePath(run.id, after),
    "hx-trigger": `every ${FOLLOW_SECONDS}s`,
    "hx-swap": "none",
    "hx-select-oob": ["#facts", "#results", ...events].join(","),
  };
}

/** The way to what is further down. */
function Contents({ shown: { run, family } }: { readonly shown: LoadedRun }) {
  const links: readonly (readonly [string, string, boolean])[] = [
    ["Timeline", "timeline", true],
    ["Output", "output", run.output !== null],
    ["Scores", "scores", run.scores.length + run.addedScores.length > 0],
    ["Cost", "cost", run.cost.models.length > 0],
    ["Metadata", "metadata", (run.metadata?.length ?? 0) > 0],
    ["Parent and children", "family", run.parentRunId !== null || family.children.length > 0],
    ["Processing", "processing", run.processing.length > 0],
    ["JSON and curl", "elsewhere", true],
  ];
  return (
    <nav class="contents" aria-label="On this page">
      {links.filter(([, , isThere]) => isThere).map(([name, to]) => <a href={`#${to}`}>{name}</a>)}
    </nav>
  );
}

/** The same run for programs, and the way to be rid of it. */
function Elsewhere({ shown, asked }: Page) {
  const { id } = shown.run;
  const line = `curl -sS -u "$RUNLEDGER_KEY:" "${asked.origin}/v1/runs/${id}"`;
  return (
    <section id="elsewhere">
      <h2>The same as JSON</h2>
      <p>
        <a href={rawPath(id)}>Show the JSON</a>, or ask for it with a key of the team:
      </p>
      <Copyable id="curl" text={line} />
      <OfferDeletion shown={shown} />
    </section>
  );
}
