/** `POST /v1/runs` and `GET /v1/runs/{id}`. */
import type { Handler } from "../../http/admission.ts";
import { type AppDeps, parseContext, type RequestContext } from "../../http/context.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { Conflict, OpenRequest } from "../../../domain/runs/decide.ts";
import { existing, notFound, type Problem } from "../../../domain/core/errors.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import { EVENTS_PER_PAGE } from "../../../domain/core/limits.ts";
import { parseOpen } from "../../../domain/ingest/open.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { type PageBounds, Query } from "../../../domain/core/query.ts";
import type { EventPosition, RunPage } from "../../../domain/runs/event_page.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { TOMBSTONE_DAYS } from "../../../domain/retention/retention.ts";
import { assemble } from "../../../domain/runs/record.ts";
import { type RunParts, statusOf } from "../../../domain/runs/run.ts";
import { answerTagged, answerWrite, fail } from "../../http/answer.ts";
import { nextTurn } from "../../http/in_turns.ts";
import { queryOf } from "../../http/query.ts";
import { runStatus } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { parseCursor, runAnswer } from "./run_json.ts";

export const openRun: Handler = async (c, { guard, runs, environment }, principal) => {
  const { request, losses } = parseOpen(c.get("body"), parseContext(c));
  const outcome = await runs.open(principal.team, request, environment.now());
  if (outcome.kind === "refused") return fail(c, outcome.problem);
  if (outcome.kind === "conflict") return fail(c, conflictProblem(request.id, outcome));
  const { kind, parts } = outcome;
  const facts = { parts, spent: null, isNew: kind === "stored" };
  const verdict = guard.headerOf(principal, request.id, () => facts);
  return answerWrite(c, kind, openedRun.write({ request, parts }), losses, verdict);
};

/** Response of `POST /v1/runs`. */
export const openedRun = shape.object<{ readonly request: OpenRequest; readonly parts: RunParts }>(
  "OpenedRun",
  {
    id: shape.id("run")(({ request }) => request.id),
    agent: shape.text(({ request }) => request.agent),
    started_at: shape.instant(({ request }) => request.startedAt),
    received_at: shape.instant(
      ({ parts }) => parts.opening?.receivedAt ?? 0,
      "Arrival of the first call.",
    ),
    status: shape.wire(runStatus)(({ parts }) => statusOf(parts)),
  },
);

/** Returns the error for a run that is stored with another value, or was deleted. */
export function conflictProblem(id: string, { field }: Conflict): Problem {
  const reason = field === "id"
    ? `was deleted and its id is refused for ${TOMBSTONE_DAYS} days`
    : `is stored with another "${field}"`;
  const message = `Run ${id} ${reason}: use a new id for a new run`;
  return { code: "id_conflict", message, field };
}

/** Answers `GET /v1/runs/{id}` without waiting. */
export const answerRun = answerPage(async (id, page, { team }, deps) => {
  const lineage = await deps.lineage.of(team, id);
  return runAnswer.write({ ...assemble(id, page), page, lineage });
});

/** Team and page of a run that is read. */
interface RunView {
  readonly team: Team;
  /** True for the first page of events. */
  readonly isFirst: boolean;
}

/** Creates a handler that answers with JSON of a run and of one page of its events. */
export function answerPage(
  json: (id: RunId, run: RunPage, page: RunView, deps: AppDeps) => RawJson | Promise<RawJson>,
) {
  return async (c: RequestContext, deps: AppDeps): Promise<Response> => {
    const id = parseRunId(c.req.param("id") ?? "");
    const { after, limit } = parseEventsPage(queryOf(c));
    const { team } = c.get("principal");
    const run = existing(await deps.runs.find(team, id), NO_SUCH_RUN);
    const events = await run.page(after, limit);
    // Writing a page of 1 MiB takes about 10 ms.
    await nextTurn();
    const view = { team, isFirst: after === null };
    return answerTagged(c, await json(id, { ...run, ...events }, view, deps));
  };
}

/** The same error for an unknown id and an id of another team (decision 32). */
export const NO_SUCH_RUN = notFound("No such run: check its id");

/** Parses the requested page of events. */
export function parseEventsPage(text: string): PageBounds<EventPosition> {
  const query = new Query(text);
  return {
    limit: query.integer("events_limit", EVENTS_PER_PAGE),
    after: query.place("events_cursor", parseCursor),
  };
}
