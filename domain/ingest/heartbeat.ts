/**
 * The body of `POST /v1/heartbeats`: schema, repair, fast path and checked request.
 *
 * @module
 */
import { z } from "zod";
import { type Body, type CheckedRequest, checkedRequest, type JsonFields } from "../core/body.ts";
import { agentSlug, instant, oneOf, optional, runId } from "../core/fields.ts";
import { isRunId, type RunId } from "../core/ids.ts";
import { COST_USD_MAX } from "../core/limits.ts";
import { Losses } from "../core/losses.ts";
import { isObject } from "../core/raw_json.ts";
import { isAbsentOr, isAgent, isCost, isCount, isCustomer, isLabel } from "../core/rules.ts";
import { picodollars } from "../pricing/money.ts";
import type { HeartbeatRequest } from "../runs/decide.ts";
import { HEARTBEAT_STATUSES } from "../runs/run.ts";
import {
  count,
  customerId,
  fastInstant,
  fastWord,
  label,
  metadataOf,
  object,
  output,
  type ParseContext,
  readerOf,
  traceOf,
  withStatus,
} from "./form.ts";
import { mendLabels, type MutableFields, orEmptyObject, removeInvalid } from "./mend.ts";
import { outputOf } from "./truncate.ts";

const COST = `a number from 0 to ${COST_USD_MAX}`;

/**
 * Status of a heartbeat.
 *
 * @internal
 */
export const heartbeatStatus = oneOf("HeartbeatStatus", HEARTBEAT_STATUSES);

/**
 * Body of `POST /v1/heartbeats`; a ping's query is mapped to the same fields.
 *
 * @internal
 */
export const heartbeatBody = z.object({
  id: optional(runId).describe("A new id when absent; required for safe retries."),
  agent: agentSlug().describe("The agent's slug; an unknown agent is created."),
  status: optional(heartbeatStatus).describe("`ok` by default."),
  started_at: optional(instant())
    .describe(
      "By default `finished_at` minus `duration_ms` of up to 31 days, or the time of arrival.",
    ),
  finished_at: optional(instant()).describe("Time of arrival by default."),
  cost_usd: optional(
    z.number(COST).refine(isCost, COST)
      .meta({ minimum: 0, maximum: COST_USD_MAX }).transform(picodollars),
  ).describe("Takes precedence over the price of the tokens, even if 0."),
  model: label.describe("Model that the tokens are priced by."),
  provider: label.describe("Provider of `model`."),
  input_tokens: count.describe("Including cached tokens."),
  output_tokens: count,
  cached_input_tokens: count.describe("Tokens read from a cache."),
  duration_ms: count.describe("Takes precedence over `started_at` and `finished_at`."),
  metadata: optional(object).describe("Flat labels; the plan limits how many are kept."),
  customer_id: customerId,
  feature: label.describe("A label to filter by."),
  output,
});

const read = readerOf(mendHeartbeat, heartbeatBody, fastHeartbeat);

/** A heartbeat whose id may not be generated yet. */
export type HeartbeatBody = Omit<HeartbeatRequest, "id"> & { readonly id: RunId | undefined };

/**
 * Parses a `POST /v1/heartbeats`, or a ping whose query was mapped to the same fields.
 *
 * @param losses losses already found
 */
export function parseHeartbeat(
  body: Body,
  context: ParseContext,
  losses: Losses,
): CheckedRequest<HeartbeatBody> {
  const fields = read(withStatus(body, context, "failed", "fail"), losses);
  const trace = traceOf(context, losses);
  const request: HeartbeatBody = {
    id: fields.id,
    agent: fields.agent,
    status: fields.status ?? "ok",
    startedAt: fields.started_at,
    finishedAt: fields.finished_at,
    durationMs: fields.duration_ms,
    reported: {
      cost: fields.cost_usd,
      model: fields.model,
      provider: fields.provider,
      inputTokens: fields.input_tokens,
      outputTokens: fields.output_tokens,
      cachedInputTokens: fields.cached_input_tokens,
    },
    metadata: metadataOf(body, fields.metadata, context, losses),
    customerId: fields.customer_id,
    feature: fields.feature,
    output: outputOf(body, losses),
    trace,
    ...losses.stored,
  };
  return checkedRequest(request, losses);
}

/**
 * Repairs a `POST /v1/heartbeats`.
 *
 * @internal
 */
export function mendHeartbeat(fields: MutableFields, text: string, losses: Losses): void {
  mendLabels(fields, text, losses, ["customer_id", "feature", "model", "provider"]);
  removeInvalid(fields, losses, heartbeatBody, ["customer_id"]);
  fields.metadata = orEmptyObject(fields.metadata);
}

/**
 * Validates a `POST /v1/heartbeats` without the schema; null if the schema must decide. The schema
 * visits 16 fields, of which most heartbeats have three: with it a call takes a tenth more CPU.
 *
 * @internal
 */
export function fastHeartbeat(body: JsonFields): z.output<typeof heartbeatBody> | null {
  const { id, agent, cost_usd, model, provider, input_tokens, output_tokens } = body;
  const { cached_input_tokens, duration_ms, metadata, customer_id, feature, output } = body;
  const status = body.status === undefined ? undefined : fastWord(HEARTBEAT_STATUSES, body.status);
  const started_at = body.started_at === undefined ? undefined : fastInstant(body.started_at);
  const finished_at = body.finished_at === undefined ? undefined : fastInstant(body.finished_at);
  const isPlain = isAbsentOr(isRunId, id) &&
    isAgent(agent) && status !== null && started_at !== null &&
    finished_at !== null && isAbsentOr(isCost, cost_usd) &&
    isAbsentOr(isLabel, model) && isAbsentOr(isLabel, provider) &&
    isAbsentOr(isCount, input_tokens) &&
    isAbsentOr(isCount, output_tokens) && isAbsentOr(isCount, cached_input_tokens) &&
    isAbsentOr(isCount, duration_ms) && isAbsentOr(isObject, metadata) &&
    isAbsentOr(isCustomer, customer_id) && isAbsentOr(isLabel, feature);
  return !isPlain ? null : {
    id,
    agent,
    status,
    started_at,
    finished_at,
    cost_usd: cost_usd === undefined ? undefined : picodollars(cost_usd),
    model,
    provider,
    input_tokens,
    output_tokens,
    cached_input_tokens,
    duration_ms,
    metadata,
    customer_id,
    feature,
    output: output ?? undefined,
  };
}
