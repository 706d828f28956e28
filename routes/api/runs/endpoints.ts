/** The calls that write a run, described. */
import { appendEvents } from "./events.ts";
import { addScore, finishRun } from "./finish.ts";
import { openRun } from "./runs.ts";
import { teamKey } from "../../http/access.ts";
import { z } from "zod";
import { finishBody } from "../../../domain/ingest/finish.ts";
import { openBody } from "../../../domain/ingest/open.ts";
import { scoreBody } from "../../../domain/ingest/score.ts";
import { EVENTS_PER_BATCH_MAX } from "../../../domain/core/limits.ts";
import { bodyDescription, endpoints, LOSS_HEADERS, written } from "../../openapi/describe.ts";
import { eventItem } from "./describe_events.ts";
import { idOf, traceparent } from "../../openapi/fields.ts";
import { addedScore, batchReceipt, finishRecord, openedRun } from "./describe_answers.ts";

/** The run of the examples. */
export const RUN = "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001";
const EVENT = "evt_eu_019aa6b2c8b87e1f8a9b0c1d2e3f0001";
const SCORE = "scr_eu_019aa6b2d1f07e1f8a9b0c1d2e3f0001";

const pathFields = { id: idOf("run").describe("The run's id, made by the client.") };

const eventsBody = z.object({ events: z.array(eventItem).max(EVENTS_PER_BATCH_MAX) })
  .meta({ id: "EventBatch" });

/** Open, append, finish, judge. */
export const RUN_ENDPOINTS = endpoints("Runs", [
  {
    method: "POST",
    path: "/v1/runs",
    access: teamKey("ingest"),
    handler: openRun,
    id: "openRun",
    summary: "Open a run",
    description: "Its events and its finish may be sent without waiting for the answer, and may " +
      "arrive first. 200 with the current status when it is stored with the same `agent` and " +
      "`started_at`; 409 when one of them differs. It replaces what a heartbeat opened the run with. " +
      "A new `agent` is created. Counts one event.",
    headers: traceparent,
    body: bodyDescription(openBody, "OpenRunRequest", {
      id: "Made by the client, best of a UUIDv7.",
      agent: "The agent's slug; no control characters, no outer space.",
      started_at: "By the client's clock.",
      customer_id: "Whom the run is for.",
      feature: "A label to filter by; a number is taken as its text.",
      metadata: "Flat labels; how many are kept is the plan's.",
      parent_run_id: "The run that started this one; dropped when malformed.",
      goal: "What the run is to do; cut to its limit.",
      idle_timeout_seconds: "Kept, not acted on yet.",
      idle_timeout_status: "Kept, not acted on yet.",
    }),
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
      status: 202,
      answer: {
        id: RUN,
        agent: "researcher",
        started_at: "2026-11-21T12:00:00.000Z",
        received_at: "2026-11-21T12:00:00.215Z",
        status: "running",
      },
    },
  },
  {
    method: "POST",
    path: "/v1/runs/:id/events",
    access: teamKey("ingest"),
    bodyShape: "events",
    handler: appendEvents,
    id: "appendEvents",
    summary: "Append events",
    description:
      "A batch, all or nothing: one bad event refuses it. The run need not be open yet " +
      "and may be finished already. An event's id is unique within its run; known ones are " +
      "dropped and counted. Counts one event for each that is stored.",
    pathFields,
    body: eventsBody,
    answers: [{
      status: 202,
      description: "Every event of the batch is stored.",
      schema: batchReceipt,
      headers: LOSS_HEADERS,
    }],
    errors: ["invalid_id", "missing_field", "unknown_region", "batch_too_large", "id_conflict"],
    idempotency: "item",
    example: {
      path: { id: RUN },
      body: {
        events: [{
          id: EVENT,
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
      status: 202,
      answer: { accepted: 1, duplicates: 0 },
    },
  },
  {
    method: "POST",
    path: "/v1/runs/:id/finish",
    access: teamKey("ingest"),
    handler: finishRun,
    id: "finishRun",
    summary: "Finish a run",
    description: "The first finish wins: every later one is answered with the first record, " +
      "whatever it sends. The run need not be open yet. Counts one event.",
    pathFields,
    body: bodyDescription(finishBody, "FinishRequest", {
      status: "How it ended.",
      finished_at: "By the client's clock.",
      output: "Any JSON value, kept exactly as sent; `[]` is `{}`. Above 512 KiB, or deeper than " +
        "64 levels, `truncated`, `bytes` and `preview` are kept.",
      scores: "Numbers or booleans by name; others are dropped.",
      metadata: "Joins the run's; a key sent again here wins.",
    }, { scores: "ScoreValues" }),
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
      status: 202,
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
  {
    method: "POST",
    path: "/v1/runs/:id/scores",
    access: teamKey("ingest"),
    handler: addScore,
    id: "addScore",
    summary: "Add a score",
    description: "At any time: the run may be open, closed, or not stored yet. " +
      "409 when a score of this id is stored with another `name` or `value`. Counts no event.",
    pathFields,
    body: bodyDescription(scoreBody, "ScoreRequest", {
      id: "Made by the client; unique within its run.",
      name: "What it measures; several scores may share it.",
      source: "Who says so; `api` when absent.",
    }),
    answers: written(addedScore, ["Runledger-Ignored"]),
    errors: ["invalid_id", "missing_field", "unknown_region", "score_cap_reached", "id_conflict"],
    idempotency: "id",
    example: {
      path: { id: RUN },
      body: { id: SCORE, name: "helpful", value: true, source: "review" },
      status: 202,
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
]);
