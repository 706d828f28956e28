/** Schemas of responses with runs. */
import { z } from "zod";
import { MATCH_STEPS } from "../../../domain/pricing/rates.ts";
import { STAGES } from "../../../domain/runs/stages.ts";
import { RUN_FLAGS } from "../../../domain/runs/flags.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS } from "../../../domain/runs/traits.ts";
import {
  anyObject,
  anyValue,
  count,
  dollarsField,
  idOf,
  instantField,
  nextCursor,
  runStatus,
} from "../../openapi/fields.ts";

const label = z.string().nullable();

const scoreValue = z.union([z.number(), z.boolean()]);

/** Response of `POST /v1/runs`. */
export const openedRun = z.object({
  id: idOf("run"),
  agent: z.string(),
  started_at: instantField,
  received_at: instantField.describe("Arrival of the first call."),
  status: runStatus,
}).meta({ id: "OpenedRun" });

/** Response of `POST /v1/runs/{id}/events`. */
export const batchReceipt = z.object({
  accepted: count.describe("New events that were stored."),
  duplicates: count.describe("Events that were already stored or occurred twice in the batch."),
}).meta({ id: "BatchReceipt" });

/** Response of `POST /v1/runs/{id}/finish`. */
export const finishRecord = z.object({
  id: idOf("run"),
  status: z.enum(FINISH_STATUSES),
  finished_at: instantField,
  received_at: instantField,
  output: anyValue.describe("Any JSON value, as sent; null if none was sent."),
  scores: z.record(z.string(), scoreValue)
    .meta({ id: "Scores", description: "Numbers or booleans by name." }).nullable(),
}).meta({ id: "FinishRecord" });

const costState = z.object({
  state: z.enum(["pending", "final"])
    .describe("`final` once the run is closed and its full cost is included in the spend."),
  revision: count.describe("0 until the cost is first final; increases with each later change."),
  unpriced_models: z.array(z.string()),
  flags: z.array(z.enum(["cached_exceeds_input"])),
}).meta({ id: "RunCostState" });

const usage = z.object({
  events: count,
  llm_calls: count,
  tool_calls: count,
  logs: count,
  errors: count,
  input_tokens: count.describe("Including cached tokens."),
  output_tokens: count,
  cached_input_tokens: count,
}).meta({ id: "RunUsage" });

const event = z.object({
  id: idOf("evt"),
  type: z.string(),
  ts: instantField,
  received_at: instantField,
  turn: z.number().meta({ type: "integer", minimum: 1 }).optional(),
  data: anyObject.describe("As sent."),
  unreadable: z.array(z.string()).optional()
    .describe(
      "Names of numeric fields in `data` that could not be read. Absent if there are none.",
    ),
  cost_usd: dollarsField.optional().describe("Cost of an `llm_call`; absent for other types."),
  priced_by: z.string().nullable().optional()
    .describe("Id of the rate card row that priced an `llm_call`, or null."),
}).meta({ id: "Event" });

const stage = z.object({
  stage: z.enum(STAGES),
  state: z.enum(["pending", "done", "skipped", "retrying", "dead"]),
  attempts: count,
  at: instantField,
  error: z.string().optional(),
}).meta({ id: "Stage" });

const score = z.object({
  name: z.string(),
  value: scoreValue,
  source: z.string().describe(
    "`self` for scores of the finish, `event` for scores sent as events.",
  ),
  id: idOf("(scr|evt)").optional()
    .describe("Id of an added score, or of its event; absent for scores of the finish."),
  received_at: instantField.optional().describe("Absent for scores of the finish."),
}).meta({ id: "Score" });

const links = z.object({
  parent: idOf("run").nullable().describe("As sent; the run may not exist."),
  children: z.array(idOf("run")).describe("Most recently started first."),
  children_cut: z.literal(true).optional().describe("Present if there are more children."),
  cost_cut: z.literal(true).optional()
    .describe("Present if `cost_with_children_usd` does not include all descendants."),
  trace_id: z.string().meta({ pattern: "^[0-9a-f]{32}$" }).optional()
    .describe("From the `traceparent` header of the opening."),
  parent_span_id: z.string().meta({ pattern: "^[0-9a-f]{16}$" }).optional(),
}).meta({ id: "Links" });

/** Response of `POST /v1/runs/{id}/scores`. */
export const addedScore = z.object({
  id: idOf("scr"),
  run_id: idOf("run"),
  name: z.string(),
  value: scoreValue,
  source: z.string(),
  received_at: instantField.describe("Arrival of the first call."),
}).meta({ id: "AddedScore" });

/** A run with a page of its events. */
export const runAnswer = z.object({
  id: idOf("run"),
  kind: z.enum(RUN_KINDS).describe("Kind of the call that opened the run."),
  agent: label.describe("Null while the opening has not arrived."),
  status: runStatus,
  started_at: instantField.nullable().describe("Null while the opening has not arrived."),
  finished_at: instantField.nullable().describe("Null while open."),
  received_at: instantField.nullable().describe("Arrival of the opening."),
  updated_at: instantField.describe("Arrival of the latest call that changed the run."),
  duration_ms: z.number().meta({ type: "integer" }).nullable().describe("Null while open."),
  clock_skew_ms: z.number().meta({ type: "integer" }).optional()
    .describe("Present only if the client's clock differs considerably from the server's."),
  flags: z.array(z.enum(RUN_FLAGS)).describe(
    "Anomalies of the run, and data that was lost from its calls.",
  ),
  customer_id: label,
  feature: label,
  metadata: anyObject.nullable(),
  goal: label,
  output: anyValue.describe("Any JSON value, as sent; null if none was sent."),
  note: label.describe("The note of a ping."),
  payload: z.enum(["partly_removed", "removed"]).optional()
    .describe("Present only if some of the payload has expired."),
  cost_usd: dollarsField.describe("Cost of everything stored so far."),
  cost: costState,
  cost_with_children_usd: dollarsField
    .describe("Cost of the run and of all its descendants."),
  usage,
  scores: z.array(score).describe("Scores of the finish, then added scores."),
  events: z.array(event).describe("One page, ordered by `ts`, then by arrival."),
  events_cursor: nextCursor,
  checks: z.array(anyObject),
  judge_results: z.array(anyObject),
  links,
  processing: z.array(stage).describe("Processing stages after the close; empty while open."),
}).meta({ id: "Run" });

const tokensPriced = z.object({
  kind: z.enum(["input", "cached_input", "cache_write", "output"]),
  tokens: count,
  usd_per_million: dollarsField,
  cost_usd: dollarsField,
}).meta({ id: "PricedTokens" });

const pricingRow = z.object({
  id: z.string(),
  source: z.enum(["own", "default"]),
  effective_from: instantField.nullable(),
}).meta({ id: "PricingRow" });

const pricedCall = z.object({
  event_id: idOf("evt").nullable().describe("Null for the cost that a heartbeat reports."),
  ts: instantField,
  provider: label,
  model: label,
  cost_usd: dollarsField,
  stated: z.boolean().describe("True if the client sent this cost, so that no rate was applied."),
  match: z.enum(MATCH_STEPS).nullable().describe("Lookup step that matched the row."),
  row: pricingRow.nullable(),
  batch_rates: z.boolean().describe("True if priced at the row's batch rates."),
  tier_above_input_tokens: count.nullable(),
  lines: z.array(tokensPriced).describe("Tokens times rate, for each kind with tokens."),
  unpriced: z.boolean(),
  flags: z.array(z.enum(["cached_exceeds_input", "covered_by_stated_cost"])),
}).meta({ id: "PricedCall" });

const modelCost = z.object({
  provider: label,
  model: label.describe("Null for cost that belongs to no model."),
  priced: z.boolean().describe("True if the rate card had a price or the client stated the cost."),
  llm_calls: count,
  input_tokens: count,
  output_tokens: count,
  cached_input_tokens: count,
  cost_usd: dollarsField,
}).meta({ id: "ModelCost" });

/** Explanation of a run's cost. */
export const runCost = z.object({
  id: idOf("run"),
  kind: z.enum(RUN_KINDS),
  cost_usd: dollarsField,
  cost: costState,
  by_model: z.array(modelCost).describe("Totals of the complete run, on every page."),
  calls: z.array(pricedCall).describe("Calls among the events of this page."),
  events_cursor: nextCursor,
}).meta({ id: "RunCost" });

/** The run of the examples. */
export const RUN = "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001";

/** Row of the examples. */
export const ROW = {
  id: RUN,
  kind: "run",
  agent: "researcher",
  status: "success",
  started_at: "2026-11-21T12:00:00.000Z",
  finished_at: "2026-11-21T12:00:09.000Z",
  received_at: "2026-11-21T12:00:00.215Z",
  duration_ms: 9000,
  flags: [],
  has: [],
  customer_id: "acme",
  feature: null,
  cost_usd: 0.0013,
  cost: { state: "final", revision: 1, unpriced_models: [], flags: [] },
  usage: {
    events: 1,
    llm_calls: 1,
    tool_calls: 0,
    logs: 0,
    errors: 0,
    input_tokens: 900,
    output_tokens: 80,
    cached_input_tokens: 0,
  },
};

export const EVENT = {
  id: "evt_eu_019aa6b2c8b87e1f8a9b0c1d2e3f0001",
  type: "llm_call",
  ts: "2026-11-21T12:00:04.000Z",
  received_at: "2026-11-21T12:00:04.310Z",
  data: { provider: "anthropic", model: "claude-haiku-4-5", input_tokens: 900, output_tokens: 80 },
  cost_usd: 0.0013,
  priced_by: "default/anthropic/claude-haiku-4-5",
};

export const COST = { state: "final", revision: 1, unpriced_models: [], flags: [] };

export const RECORD = {
  id: RUN,
  kind: "run",
  agent: "researcher",
  status: "success",
  started_at: "2026-11-21T12:00:00.000Z",
  finished_at: "2026-11-21T12:00:09.000Z",
  received_at: "2026-11-21T12:00:00.215Z",
  updated_at: "2026-11-21T12:00:09.120Z",
  duration_ms: 9000,
  flags: [],
  customer_id: "acme",
  feature: null,
  metadata: { env: "prod" },
  goal: null,
  output: { answer: 42 },
  note: null,
  cost_usd: 0.0013,
  cost: COST,
  cost_with_children_usd: 0.0013,
  usage: ROW.usage,
  scores: [{ name: "quality", value: 0.9, source: "self" }],
  events: [EVENT],
  events_cursor: null,
  checks: [],
  judge_results: [],
  links: { parent: null, children: [] },
  processing: [
    { stage: "cost", state: "done", attempts: 1, at: "2026-11-21T12:00:09.131Z" },
    { stage: "checks", state: "skipped", attempts: 0, at: "2026-11-21T12:00:09.131Z" },
    { stage: "alerts", state: "skipped", attempts: 0, at: "2026-11-21T12:00:09.131Z" },
    { stage: "judge", state: "skipped", attempts: 0, at: "2026-11-21T12:00:09.131Z" },
  ],
};
