/** Endpoints of `POST /v1/heartbeats` and `GET /v1/ping`. */
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
  cost_usd: dollarsField.describe("The reported cost, else the price of the tokens, else 0."),
  duration_ms: z.number().meta({ type: "integer" }).nullable().describe("Null after a `start`."),
}).meta({ id: "Heartbeat" });

const pinged = z.object({
  id: idOf("run"),
  agent: z.string(),
  status: heartbeatStatus,
  received_at: instantField,
  cost_usd: dollarsField.optional().describe("Only if the ping has `cost_usd` or `model`."),
}).meta({ id: "Ping" });

const label = z.string().max(LABEL_CHARS_MAX).optional();
const tokens = sentCountField.optional();

/** Maximum exit code of a ping: ten digits. */
const EXIT_CODE_MAX = 9_999_999_999;

/** Fields of a heartbeat as query parameters; an empty one counts as absent. */
const pingQuery = {
  agent: slug().optional()
    .describe("The agent's slug; required unless a ping token supplies it."),
  status: heartbeatStatus.optional().describe("`ok` by default."),
  exit_code: z.int().min(-EXIT_CODE_MAX).max(EXIT_CODE_MAX).optional()
    .describe(
      "Used when `status` is absent: 0 is `ok`, 124 is `timeout`, any other code is `fail`.",
    ),
  id: idOf("run").optional().describe("A new id when absent; required for safe retries."),
  started_at: sentInstantField.optional().describe("Time of arrival by default."),
  finished_at: sentInstantField.optional().describe("Time of arrival by default."),
  duration_ms: tokens.describe("Takes precedence over `started_at` and `finished_at`."),
  cost_usd: z.number().min(0).max(COST_USD_MAX).optional()
    .describe("Takes precedence over the price of the tokens, even if 0."),
  model: label.describe("Model that the tokens are priced by."),
  provider: label.describe("Provider of `model`."),
  input_tokens: tokens,
  output_tokens: tokens,
  cached_input_tokens: tokens,
  metadata: z.string().optional()
    .describe(
      `A note, truncated to ${NOTE_CHARS_MAX} characters; kept if the plan keeps metadata.`,
    ),
};

/** Endpoints that record a complete run in one call, as JSON or from a shell. */
export const HEARTBEAT_ENDPOINTS = endpoints("Heartbeats", {
  sendHeartbeat: {
    route: "POST /v1/heartbeats",
    access: KEY_OR_TOKEN,
    handler: sendHeartbeat,
    summary: "Record a complete run",
    description: "Status `start` opens a run and leaves it open; a later heartbeat with the same " +
      "`id` closes it. The first close wins, and nothing reopens a run. Returns 409 when the `id` " +
      "is stored with another `agent` or, if one was sent, another `started_at`. Counts as one " +
      "event.",
    headers: traceparent,
    body: bodyDescription(heartbeatBody, "HeartbeatRequest", {
      id: "A new id when absent; required for safe retries.",
      agent: "The agent's slug; an unknown agent is created.",
      status: "`ok` by default.",
      started_at: "Time of arrival by default.",
      finished_at: "Time of arrival by default.",
      cost_usd: "Takes precedence over the price of the tokens, even if 0.",
      model: "Model that the tokens are priced by.",
      provider: "Provider of `model`.",
      input_tokens: "Including cached tokens.",
      cached_input_tokens: "Tokens read from a cache.",
      duration_ms: "Takes precedence over `started_at` and `finished_at`.",
      metadata: "Flat labels; the plan limits how many are kept.",
      customer_id: "The customer that the run is for.",
      feature: "A label to filter by.",
      output:
        "Any JSON value, stored exactly as sent, except that `[]` becomes `{}`. A value above " +
        "512 KiB or deeper than 64 levels is replaced with `truncated`, `bytes` and `preview`.",
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
  ping: {
    route: "GET /v1/ping",
    access: KEY_OR_TOKEN,
    handler: ping,
    summary: "Record a complete run from a shell",
    description: "Sends a heartbeat as query parameters. The response is JSON if `Accept` lists " +
      "`application/json` with at least the weight of `text/plain`. Errors are one line of text " +
      "that begins with the code. Counts as one event.",
    hasHead: true,
    query: pingQuery,
    headers: {
      Accept: z.string().optional().describe(
        "`application/json` for a JSON response; weights such as `;q=0.5` are supported.",
      ),
      ...traceparent,
    },
    answers: [{
      status: 200,
      description: "Stored, now or previously.",
      schema: z.string(),
      type: "text/plain",
      also: { "application/json": pinged },
      headers: ["X-Run-Id", "Cache-Control", "Idempotent-Replayed", ...LOSS_HEADERS],
    }],
    errors: ["invalid_id", "missing_field", "unknown_region", "agent_cap_reached", "id_conflict"],
    errorsAsText: true,
    idempotency: "id",
    example: { query: { agent: "nightly", exit_code: "0" }, answer: "OK\n" },
  },
});
