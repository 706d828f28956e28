/** The calls that write a run, described. */
import { z } from "zod";
import {
  eventBody,
  finishBody,
  llmCallData,
  logData,
  openBody,
  scoreBody,
} from "../../domain/input/schemas.ts";
import { EVENTS_PER_BATCH_MAX } from "../../domain/limits.ts";
import { bodyOf, type Operation, written } from "./describe.ts";
import { idOf, traceparent } from "./fields.ts";
import { addedScore, batchReceipt, finishRecord, openedRun } from "./run_answers.ts";

/** The run of the examples. */
export const RUN = "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001";
const EVENT = "evt_eu_019aa6b2c8b87e1f8a9b0c1d2e3f0001";
const SCORE = "scr_eu_019aa6b2d1f07e1f8a9b0c1d2e3f0001";

const pathFields = { id: idOf("run").describe("The run's id, made by the client.") };

/** What `data` is checked for follows from the event's type. */
function dataOf(type: string, schema: unknown) {
  const data = z.toJSONSchema(schema as z.ZodType, { io: "input", unrepresentable: "any" });
  delete data.$schema;
  return { if: { properties: { type: { const: type } } }, then: { properties: { data } } };
}

const event = bodyOf(eventBody, {
  id: "Made by the client; `external_id` is accepted in its place.",
  type: "`llm_call`, `log`, `tool_call` or any other.",
  ts: "By the client's clock.",
  data:
    "Kept exactly as sent, and no reason to refuse the event: a figure that cannot be read is " +
    "ignored, and `unreadable` names it. Of an `llm_call` the answer of a provider may be sent " +
    "unchanged. A `cost_usd` in it is ignored: the rate card prices a call.",
  turn: "Which exchange of a conversation.",
}).meta({
  id: "EventItem",
  allOf: [dataOf("llm_call", llmCallData), dataOf("log", logData)],
});

const eventsBody = z.object({ events: z.array(event).max(EVENTS_PER_BATCH_MAX) });

/** Open, append, finish, judge. */
export const RUN_OPERATIONS: readonly Operation[] = [
  {
    method: "POST",
    path: "/v1/runs",
    id: "openRun",
    tag: "Runs",
    summary: "Open a run",
    description: "Its events and its finish may be sent without waiting for the answer, and may " +
      "arrive first. 200 with the current status when it is stored with the same `agent` and " +
      "`started_at`; 409 when one of them differs. It replaces what a heartbeat opened the run with. " +
      "A new `agent` is created. Counts one event.",
    headers: traceparent,
    body: bodyOf(openBody, {
      id: "Made by the client, best of a UUIDv7.",
      agent: "The agent's slug; no control characters, no outer space.",
      started_at: "By the client's clock.",
      customer_id: "Whom the run is for.",
      feature: "A label to filter by.",
      metadata: "Flat labels; how many are kept is the plan's.",
      parent_run_id: "The run that started this one.",
      goal: "What the run is to do.",
      idle_timeout_seconds: "Kept, not acted on yet.",
      idle_timeout_status: "Kept, not acted on yet.",
    }),
    answers: written(openedRun, ["Runledger-Dropped"]),
    errors: ["invalid_id", "missing_field", "unknown_region", "agent_cap_reached", "id_conflict"],
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
    id: "appendEvents",
    tag: "Runs",
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
    id: "finishRun",
    tag: "Runs",
    summary: "Finish a run",
    description: "The first finish wins: every later one is answered with the first record, " +
      "whatever it sends. The run need not be open yet. Counts one event.",
    pathFields,
    body: bodyOf(finishBody, {
      status: "How it ended.",
      finished_at: "By the client's clock.",
      output: "Kept exactly as sent.",
      scores: "Numbers or booleans by name.",
      metadata: "Joins the run's; a key sent again here wins.",
    }),
    answers: written(finishRecord, ["Runledger-Dropped"]),
    errors: ["invalid_id", "missing_field", "unknown_region", "id_conflict"],
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
    id: "addScore",
    tag: "Runs",
    summary: "Add a score",
    description:
      "Whenever somebody has judged the run: it may be open, closed, or not there yet. " +
      "409 when a score of this id is stored with another `name` or `value`. Counts no event.",
    pathFields,
    body: bodyOf(scoreBody, {
      id: "Made by the client; unique within its run.",
      name: "What it measures; several scores may share it.",
      source: "Who says so; `api` when absent.",
    }),
    answers: written(addedScore),
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
];
