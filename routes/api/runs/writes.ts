/** Calls that write a run: opening, events, finish and scores. */
import { z } from "zod";
import type { RunId } from "../../../domain/core/ids.ts";
import { EVENTS_PER_BATCH_MAX } from "../../../domain/core/limits.ts";
import { Losses } from "../../../domain/core/losses.ts";
import { rawOf, writeObject } from "../../../domain/core/raw_json.ts";
import { finishStatus } from "../../../domain/ingest/fields.ts";
import { finishBody, parseFinish } from "../../../domain/ingest/finish.ts";
import { openBody } from "../../../domain/ingest/open.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { parseCutEvents, parseEvents } from "../../../domain/ingest/parse_events.ts";
import { parseScore, scoreBody } from "../../../domain/ingest/score.ts";
import type { AddedScore } from "../../../domain/runs/added_scores.ts";
import type { Closing, Score } from "../../../domain/runs/run.ts";
import { teamKey } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { answerWrite, fail } from "../../http/answer.ts";
import { parseContext } from "../../http/context.ts";
import { inTurns } from "../../http/in_turns.ts";
import { endpoints, LOSS_HEADERS, written } from "../../openapi/describe.ts";
import { idOf, traceparent } from "../../openapi/fields.ts";
import { count, id, instant, object, sentJson, text, wire } from "../../openapi/wire.ts";
import { eventItem } from "./describe_events.ts";
import { EVENT, RUN } from "./examples.ts";
import { scoreValue } from "./run_json.ts";
import { conflictProblem, openedRun, openRun } from "./runs.ts";

export const appendEvents: Handler = async (c, { runs, environment }) => {
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, id.problem);
  const body = c.get("body");
  const parsed = body.events === undefined
    ? parseEvents(body)
    : await inTurns(parseCutEvents(body, body.events));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { request, losses } = parsed.value;
  const { team } = c.get("principal");
  const outcome = await runs.append(team, id.value, request, environment.now());
  if (outcome.kind === "conflict") return fail(c, conflictProblem(id.value, outcome));
  const { accepted, duplicates, scoresDropped = 0 } = outcome;
  const all = scoresDropped === 0 ? losses : losses ?? new Losses();
  all?.remove("scores", scoresDropped);
  return answerWrite(c, "stored", batchReceipt.write({ accepted, duplicates }), all);
};

/** Response of `POST /v1/runs/{id}/events`. */
const batchReceipt = object<{ readonly accepted: number; readonly duplicates: number }>(
  "BatchReceipt",
  {
    accepted: count("accepted", "New events that were stored."),
    duplicates: count(
      "duplicates",
      "Events that were already stored or occurred twice in the batch.",
    ),
  },
);

export const finishRun: Handler = async (c, { runs, environment }) => {
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, id.problem);
  const parsed = parseFinish(c.get("body"), parseContext(c));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { request, losses } = parsed.value;
  const { team } = c.get("principal");
  const outcome = await runs.finish(team, id.value, request, environment.now());
  if (outcome.kind === "conflict") return fail(c, conflictProblem(id.value, outcome));
  const { closing } = outcome.parts;
  // A finish is always closed, whether stored or replayed.
  if (closing === null) throw new TypeError("A finished run has no close");
  return answerWrite(c, outcome.kind, finishRecord.write({ ...closing, id: id.value }), losses);
};

const scores = wire<readonly Score[]>(
  z.record(z.string(), scoreValue.schema)
    .meta({ id: "Scores", description: "Numbers or booleans by name." }),
  (scores) => writeObject(scores.map(([name, value]) => [name, rawOf(value)])),
);

/** Stored finish, which is the same for the first write and every retry (decision 22). */
const finishRecord = object<Closing & { readonly id: RunId }>("FinishRecord", {
  id: id("run")("id"),
  status: wire(finishStatus)("status"),
  finished_at: instant("finishedAt"),
  received_at: instant("receivedAt"),
  output: sentJson(
    ({ output }) => output ?? rawOf(null),
    "Any JSON value, as sent; null if none was sent.",
  ),
  scores: scores.orNull("scores"),
});

export const addScore: Handler = async (c, { scores, environment }) => {
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, id.problem);
  const parsed = parseScore(c.get("body"));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { team } = c.get("principal");
  const outcome = await scores.add(team, id.value, parsed.value.request, environment.now());
  switch (outcome.kind) {
    case "refused":
      return fail(c, outcome.problem);
    case "conflict":
      return fail(c, conflictProblem(id.value, outcome));
    case "differs": {
      const { field } = outcome;
      const message = `Score ${parsed.value.request.id} is stored with another "${field}": ` +
        "use a new id for a new score";
      return fail(c, { code: "id_conflict", message, field });
    }
    case "stored":
    case "replayed": {
      const json = addedScore.write({ ...outcome.score, run: id.value });
      return answerWrite(c, outcome.kind, json, parsed.value.losses);
    }
    default:
      return outcome satisfies never;
  }
};

/** Response of `POST /v1/runs/{id}/scores`. */
const addedScore = object<AddedScore & { readonly run: RunId }>("AddedScore", {
  id: id("scr")("id"),
  run_id: id("run")("run"),
  name: text("name"),
  value: scoreValue("value"),
  source: text("source"),
  received_at: instant("receivedAt", "Arrival of the first call."),
});

const SCORE = "scr_eu_019aa6b2d1f07e1f8a9b0c1d2e3f0001";

const pathFields = { id: idOf("run").describe("The run's id, generated by the client.") };

const eventsBody = z.object({ events: z.array(eventItem).max(EVENTS_PER_BATCH_MAX) })
  .meta({ id: "EventBatch" });

/** Endpoints that open a run, append events, finish it, and add scores. */
export const RUN_ENDPOINTS = endpoints("Runs", {
  openRun: {
    route: "POST /v1/runs",
    access: teamKey("ingest"),
    handler: openRun,
    summary: "Open a run",
    description: "Clients may send the run's events and finish without waiting for the response; " +
      "they may arrive first. Returns 200 with the current status when the run is stored with the " +
      "same `agent` and `started_at`, and 409 when either differs. It replaces an opening by a " +
      "heartbeat. An unknown `agent` is created. Counts as one event.",
    headers: traceparent,
    body: openBody.meta({ id: "OpenRunRequest" }),
    answers: written(openedRun, LOSS_HEADERS),
    errors: ["invalid_id", "missing_field", "unknown_region", "agent_cap_reached", "id_conflict"],
    links: ["appendEvents", "finishRun", "addScore", "getRun", "getRunCost"],
    idempotency: "id",
    example: {
      body: {
        id: RUN,
        agent: "researcher",
        started_at: "2026-11-21T12:00:00Z",
        customer_id: "acme",
        metadata: { env: "prod" },
      },
      answer: {
        id: RUN,
        agent: "researcher",
        started_at: "2026-11-21T12:00:00.000Z",
        received_at: "2026-11-21T12:00:00.215Z",
        status: "running",
      },
    },
  },
  appendEvents: {
    route: "POST /v1/runs/:id/events",
    access: teamKey("ingest"),
    bodyShape: "events",
    handler: appendEvents,
    summary: "Append events",
    description:
      "Stores a batch atomically: one invalid event rejects the batch. The run need not be open yet " +
      "and may already be finished. An event's id is unique within its run; events that are already " +
      "stored are dropped and counted as duplicates. Each stored event counts as one event.",
    pathFields,
    body: eventsBody,
    answers: [{
      status: 202,
      description: "Every event of the batch is stored.",
      schema: batchReceipt.schema,
      headers: LOSS_HEADERS,
    }],
    errors: ["invalid_id", "missing_field", "unknown_region", "batch_too_large", "id_conflict"],
    idempotency: "item",
    example: {
      path: { id: RUN },
      body: {
        events: [{
          id: EVENT.id,
          type: "llm_call",
          ts: "2026-11-21T12:00:04Z",
          data: {
            provider: "anthropic",
            model: "claude-haiku-4-5",
            input_tokens: 900,
            output_tokens: 80,
          },
        }],
      },
      answer: { accepted: 1, duplicates: 0 },
    },
  },
  finishRun: {
    route: "POST /v1/runs/:id/finish",
    access: teamKey("ingest"),
    handler: finishRun,
    summary: "Finish a run",
    description:
      "The first finish wins: every later one returns the record of the first, whatever " +
      "its content. The run need not be open yet. Counts as one event.",
    pathFields,
    body: finishBody.meta({ id: "FinishRequest" }),
    answers: written(finishRecord, LOSS_HEADERS),
    errors: ["invalid_id", "missing_field", "unknown_region", "id_conflict"],
    links: ["getRun", "getRunCost", "addScore"],
    idempotency: "id",
    example: {
      path: { id: RUN },
      body: {
        status: "success",
        finished_at: "2026-11-21T12:00:09Z",
        output: { answer: 42 },
        scores: { quality: 0.9 },
      },
      answer: {
        id: RUN,
        status: "success",
        finished_at: "2026-11-21T12:00:09.000Z",
        received_at: "2026-11-21T12:00:09.120Z",
        output: { answer: 42 },
        scores: { quality: 0.9 },
      },
      needs: ["openRun"],
    },
  },
  addScore: {
    route: "POST /v1/runs/:id/scores",
    access: teamKey("ingest"),
    handler: addScore,
    summary: "Add a score",
    description:
      "Adds a score at any time: the run may be open, closed, or not stored yet. Returns " +
      "409 when a score with this id is stored with another `name` or `value`. Does not count as " +
      "an event.",
    pathFields,
    body: scoreBody.meta({ id: "ScoreRequest" }),
    answers: written(addedScore, ["Runledger-Ignored"]),
    errors: ["invalid_id", "missing_field", "unknown_region", "score_cap_reached", "id_conflict"],
    idempotency: "id",
    example: {
      path: { id: RUN },
      body: { id: SCORE, name: "helpful", value: true, source: "review" },
      answer: {
        id: SCORE,
        run_id: RUN,
        name: "helpful",
        value: true,
        source: "review",
        received_at: "2026-11-21T12:00:09.300Z",
      },
    },
  },
});
