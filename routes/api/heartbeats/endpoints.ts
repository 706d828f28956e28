/** `POST /v1/heartbeats` and `GET /v1/ping`, described. */
import { KEY_OR_TOKEN } from "../../http/access.ts";
import { ping, sendHeartbeat } from "./heartbeats.ts";
import { z } from "zod";
import { heartbeatBody } from "../../../domain/ingest/heartbeat.ts";
import { COST_USD_MAX, LABEL_CHARS_MAX, NOTE_CHARS_MAX } from "../../../domain/core/limits.ts";
import { bodyDescription, endpoints, LOSS_HEADERS, written } from "../../openapi/describe.ts";
import {
  dollarsField,
  heartbeatStatus,
  idOf,
  instantField,
  sentCountField,
  sentInstantField,
  slug,
  traceparent,
} from "../../openapi/fields.ts";

const RUN = "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0002";

const heartbeat = z.object({
  id: idOf("run"),
  agent: z.string(),
  status: heartbeatStatus,
  started_at: instantField,
  finished_at: instantField.nullable().describe("Null after a `start`."),
  received_at: instantField,
  cost_usd: dollarsField.describe("What was sent, else the price of the tokens, else 0."),
  duration_ms: z.number().meta({ type: "integer" }).nullable().describe("Null after a `start`."),
}).meta({ id: "Heartbeat" });

const pinged = z.object({
  id: idOf("run"),
  agent: z.string(),
  status: heartbeatStatus,
  received_at: instantField,
  cost_usd: dollarsField.optional().describe("Only when the ping has `cost_usd` or `model`."),
}).meta({ id: "Ping" });

const label = z.string().max(LABEL_CHARS_MAX).optional();
const tokens = sentCountField.optional();

/** Largest exit code that a ping may tell: ten digits. */
const EXIT_CODE_MAX = 9_999_999_999;

/** The fields of a heartbeat as parameters: an empty one is as absent. */
const pingQuery = {
  agent: slug().optional()
    .describe("The agent's slug; with a ping token its own by default, else required."),
  status: heartbeatStatus.optional().describe("`ok` by default."),
  exit_code: z.int().min(-EXIT_CODE_MAX).max(EXIT_CODE_MAX).optional()
    .describe("0 is `ok`, 124 is `timeout`, else `fail`; used when there is no `status`."),
  id: idOf("run").optional().describe("A new one when absent; a retry needs one."),
  started_at: sentInstantField.optional().describe("Time of arrival by default."),
  finished_at: sentInstantField.optional().describe("Time of arrival by default."),
  duration_ms: tokens.describe("Wins over the two instants."),
  cost_usd: z.number().min(0).max(COST_USD_MAX).optional().describe("Wins over tokens, also 0."),
  model: label.describe("Prices the tokens."),
  provider: label.describe("Goes with `model`."),
  input_tokens: tokens,
  output_tokens: tokens,
  cached_input_tokens: tokens,
  metadata: z.string().optional()
    .describe(
      `A note of up to ${NOTE_CHARS_MAX} characters, cut to them, where the plan keeps metadata.`,
    ),
};

/** A whole run in one call, as JSON and from a shell. */
export const HEARTBEAT_ENDPOINTS = endpoints("Heartbeats", [
  {
    method: "POST",
    path: "/v1/heartbeats",
    access: KEY_OR_TOKEN,
    handler: sendHeartbeat,
    id: "sendHeartbeat",
    summary: "Record a whole run",
    description: "`start` opens a run and leaves it open; a later heartbeat with the same `id` " +
      "closes it. The first close wins and nothing reopens a run. 409 when the `id` is stored " +
      "with another `agent`, or another `started_at` and one was sent. Counts one event.",
    headers: traceparent,
    body: bodyDescription(heartbeatBody, "HeartbeatRequest", {
      id: "A new one when absent; a retry needs one.",
      agent: "The agent's slug; a new one is created.",
      status: "`ok` by default.",
      started_at: "Time of arrival by default.",
      finished_at: "Time of arrival by default.",
      cost_usd: "Wins over tokens, also 0.",
      model: "Prices the tokens.",
      provider: "Goes with `model`.",
      input_tokens: "Cached ones included.",
      cached_input_tokens: "Read from a cache.",
      duration_ms: "Wins over the two instants.",
      metadata: "Flat labels; how many are kept is the plan's.",
      customer_id: "Whom the run is for.",
      feature: "A label to filter by.",
      output: "Any JSON value, kept exactly as sent; `[]` is `{}`. Above 512 KiB, or deeper than " +
        "64 levels, `truncated`, `bytes` and `preview` are kept.",
    }),
    answers: written(heartbeat, LOSS_HEADERS),
    errors: ["invalid_id", "missing_field", "unknown_region", "agent_cap_reached", "id_conflict"],
    links: ["getRun", "getRunCost", "finishRun", "addScore"],
    idempotency: "id",
    example: {
      body: {
        agent: "nightly",
        duration_ms: 5400,
        provider: "openai",
        model: "gpt-4o",
        input_tokens: 1200,
        output_tokens: 340,
      },
      status: 202,
      answer: {
        id: RUN,
        agent: "nightly",
        status: "ok",
        started_at: "2026-11-21T12:00:00.000Z",
        finished_at: "2026-11-21T12:00:00.000Z",
        received_at: "2026-11-21T12:00:00.000Z",
        cost_usd: 0.0064,
        duration_ms: 5400,
      },
    },
  },
  {
    method: "GET",
    path: "/v1/ping",
    access: KEY_OR_TOKEN,
    handler: ping,
    id: "ping",
    summary: "Record a whole run from a shell",
    description: "A heartbeat as a query. The answer is JSON where `Accept` names " +
      "`application/json` with no less weight than `text/plain`. Refusals are one line of text, the code first. Counts " +
      "one event.",
    hasHead: true,
    query: pingQuery,
    headers: {
      Accept: z.string().optional().describe(
        "`application/json` for an answer in JSON; weights such as `;q=0.5` count.",
      ),
      ...traceparent,
    },
    answers: [{
      status: 200,
      description: "Stored, now or before.",
      schema: z.string(),
      type: "text/plain",
      also: { "application/json": pinged },
      headers: ["X-Run-Id", "Cache-Control", "Idempotent-Replayed", ...LOSS_HEADERS],
    }],
    errors: ["invalid_id", "missing_field", "unknown_region", "agent_cap_reached", "id_conflict"],
    errorsAsText: true,
    idempotency: "id",
    example: { query: { agent: "nightly", exit_code: "0" }, status: 200, answer: "OK\n" },
  },
]);
