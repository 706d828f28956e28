/** What answers say of runs. */
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

/** What `POST /v1/runs` answers. */
export const openedRun = z.object({
  id: idOf("run"),
  agent: z.string(),
  started_at: instantField,
  received_at: instantField.describe("Arrival of the first call."),
  status: runStatus,
}).meta({ id: "OpenedRun" });

/** What `POST /v1/runs/{id}/events` answers. */
export const batchReceipt = z.object({
  accepted: count.describe("Events that are new and stored."),
  duplicates: count.describe("Events that were known, or came twice in the batch."),
}).meta({ id: "BatchReceipt" });

/** What `POST /v1/runs/{id}/finish` answers. */
export const finishRecord = z.object({
  id: idOf("run"),
  status: z.enum(FINISH_STATUSES),
  finished_at: instantField,
  received_at: instantField,
  output: anyValue.describe("Any JSON value, as it was sent; null for none."),
  scores: z.record(z.string(), scoreValue)
    .meta({ id: "Scores", description: "Numbers or booleans by name." }).nullable(),
}).meta({ id: "FinishRecord" });

const costState = z.object({
  state: z.enum(["pending", "final"])
    .describe("`final` once the run is closed and all of it is in the spend."),
  revision: count.describe("0 until first final, and one more for each change after."),
  unpriced_models: z.array(z.string()),
  flags: z.array(z.enum(["cached_exceeds_input"])),
}).meta({ id: "RunCostState" });

const usage = z.object({
  events: count,
  llm_calls: count,
  tool_calls: count,
  logs: count,
  errors: count,
  input_tokens: count.describe("Cached ones included."),
  output_tokens: count,
  cached_input_tokens: count,
}).meta({ id: "RunUsage" });

const event = z.object({
  id: idOf("evt"),
  type: z.string(),
  ts: instantField,
  received_at: instantField,
  turn: z.number().meta({ type: "integer", minimum: 1 }).optional(),
  data: anyObject.describe("As it was sent."),
  unreadable: z.array(z.string()).optional()
    .describe("Figures in `data` that could not be read, by name. Absent for none."),
  cost_usd: dollarsField.optional().describe("Of an `llm_call`: what it costs."),
  priced_by: z.string().nullable().optional()
    .describe("Of an `llm_call`: the row of the rate card that priced it, or null."),
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
  source: z.string().describe("`self` for one of the finish, `event` for one sent as an event."),
  id: idOf("(scr|evt)").optional().describe("Of one that was added: its own, or its event's."),
  received_at: instantField.optional().describe("Of one that was added."),
}).meta({ id: "Score" });

const links = z.object({
  parent: idOf("run").nullable().describe("As it was sent: the team may have no such run."),
  children: z.array(idOf("run")).describe("The latest start first."),
  children_cut: z.literal(true).optional().describe("There are more children."),
  cost_cut: z.literal(true).optional()
    .describe("There are more descendants than `cost_with_children_usd` counts."),
  trace_id: z.string().meta({ pattern: "^[0-9a-f]{32}$" }).optional()
    .describe("Of the `traceparent` that its opening came with."),
  parent_span_id: z.string().meta({ pattern: "^[0-9a-f]{16}$" }).optional(),
}).meta({ id: "Links" });

/** What `POST /v1/runs/{id}/scores` answers. */
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
  kind: z.enum(RUN_KINDS).describe("By the call that opened it."),
  agent: label.describe("Null while the opening has not arrived."),
  status: runStatus,
  started_at: instantField.nullable().describe("Null while the opening has not arrived."),
  finished_at: instantField.nullable().describe("Null while open."),
  received_at: instantField.nullable().describe("Arrival of the opening."),
  updated_at: instantField.describe("Arrival of the latest part."),
  duration_ms: z.number().meta({ type: "integer" }).nullable().describe("Null while open."),
  clock_skew_ms: z.number().meta({ type: "integer" }).optional()
    .describe("Only when the client's clock is far off."),
  flags: z.array(z.enum(RUN_FLAGS)).describe(
    "What is odd about the run, or was lost of its calls.",
  ),
  customer_id: label,
  feature: label,
  metadata: anyObject.nullable(),
  goal: label,
  output: anyValue.describe("Any JSON value, as it was sent; null for none."),
  note: label.describe("Of a ping."),
  payload: z.enum(["partly_removed", "removed"]).optional()
    .describe("Only when some of the payload is gone by age."),
  cost_usd: dollarsField.describe("Of everything stored so far."),
  cost: costState,
  cost_with_children_usd: dollarsField
    .describe("The same and that of all runs it started, and those that they started."),
  usage,
  scores: z.array(score).describe("Those of the finish, then those that were added."),
  events: z.array(event).describe("One page, by `ts`, then arrival."),
  events_cursor: nextCursor,
  checks: z.array(anyObject),
  judge_results: z.array(anyObject),
  links,
  processing: z.array(stage).describe("Stages behind the close; empty while open."),
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
  event_id: idOf("evt").nullable().describe("Null for what a heartbeat reports of itself."),
  ts: instantField,
  provider: label,
  model: label,
  cost_usd: dollarsField,
  stated: z.boolean().describe("The client sent this cost, so nothing was priced."),
  match: z.enum(MATCH_STEPS).nullable().describe("The step that found the row."),
  row: pricingRow.nullable(),
  batch_rates: z.boolean().describe("Priced at the row's rates for calls in a batch."),
  tier_above_input_tokens: count.nullable(),
  lines: z.array(tokensPriced).describe("Tokens times rate, those with tokens."),
  unpriced: z.boolean(),
  flags: z.array(z.enum(["cached_exceeds_input", "covered_by_stated_cost"])),
}).meta({ id: "PricedCall" });

const modelCost = z.object({
  provider: label,
  model: label.describe("Null for what belongs to no model."),
  priced: z.boolean().describe("The card had a price, or the cost was stated."),
  llm_calls: count,
  input_tokens: count,
  output_tokens: count,
  cached_input_tokens: count,
  cost_usd: dollarsField,
}).meta({ id: "ModelCost" });

/** Why a run cost what it did. */
export const runCost = z.object({
  id: idOf("run"),
  kind: z.enum(RUN_KINDS),
  cost_usd: dollarsField,
  cost: costState,
  by_model: z.array(modelCost).describe("The whole run, whatever the page."),
  calls: z.array(pricedCall).describe("Those among the page's events."),
  events_cursor: nextCursor,
}).meta({ id: "RunCost" });
