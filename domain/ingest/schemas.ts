/**
 * The bodies of the write calls, field by field in the order of the specification's tables.
 *
 * A schema's `error` texts complete the sentence "must be …". `null` in an optional field is as absent
 * (decision 8). Payload fields that do not fit are mended before (`mend.ts`), so that no schema refuses them.
 *
 * @module
 */
import { z } from "zod";
import type {
  EventBody,
  FinishBody,
  HeartbeatFields,
  LlmCallData,
  OpenBody,
  ScoreBody,
} from "./bodies.ts";
import type { JsonObject } from "../core/body.ts";
import { type EventId, type IdPrefix, judgeId, type RunId, type ScoreId } from "../core/ids.ts";
import { isObject } from "../core/raw_json.ts";
import {
  COST_USD_MAX,
  EVENT_TYPE_CHARS_MAX,
  GOAL_CHARS_MAX,
  IDLE_TIMEOUT_SECONDS,
  LABEL_CHARS_MAX,
  SCORE_NAME_CHARS_MAX,
  SCORE_SOURCE_CHARS_MAX,
  SCORES_MAX,
} from "../core/limits.ts";
import { picodollars } from "../pricing/money.ts";
import { FINISH_STATUSES, HEARTBEAT_STATUSES } from "../runs/run.ts";
import {
  agentSlug,
  anyJson,
  customer,
  instant,
  name,
  oneOf,
  optional,
  text,
} from "../core/fields.ts";
import { isCost, isCount, isScore, isScoreName, isScores } from "../core/rules.ts";
import type { Schema } from "../core/validate.ts";

const COUNT = `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`;

const runId = id<RunId>("run");
const agent = agentSlug();
const label = optional(text(LABEL_CHARS_MAX));
const tokens = optional(count());
const object = z.custom<JsonObject>(isObject, "an object").meta({ type: "object" });
const finishStatus = oneOf(FINISH_STATUSES);

/** Body of `POST /v1/runs`. */
export const openBody: Schema<OpenBody> = z.object({
  id: runId,
  agent,
  started_at: instant(),
  customer_id: optional(customer()),
  feature: label,
  metadata: optional(object),
  parent_run_id: optional(
    z.custom<RunId>((value) => judgeId("run", value) === "valid", "a run id")
      .meta(idMeta("run")),
  ),
  goal: optional(text(GOAL_CHARS_MAX)),
  idle_timeout_seconds: optional(idleTimeout()),
  idle_timeout_status: optional(finishStatus),
});

/** One item of the `events` array; `external_id` is put in the place of `id` before. */
export const eventBody: Schema<EventBody> = z.object({
  id: id<EventId>("evt"),
  type: name(EVENT_TYPE_CHARS_MAX, "an event type"),
  ts: instant(),
  data: object,
  turn: optional(z.int("an integer from 1").min(1, "an integer from 1")),
});

/** `data` of an `llm_call`. Everything else in it is kept and not looked at. */
export const llmCallData: Schema<LlmCallData> = z.object({
  provider: label,
  model: label,
  input_tokens: tokens,
  output_tokens: tokens,
  latency_ms: tokens,
  cached_input_tokens: tokens,
  cache_creation_input_tokens: tokens,
  reasoning_tokens: tokens,
});

/** Body of `POST /v1/runs/{id}/finish`. */
export const finishBody: Schema<FinishBody> = z.object({
  status: finishStatus,
  finished_at: instant(),
  output: optional(anyJson()),
  scores: optional(scores()),
  metadata: optional(object),
});

/** Body of `POST /v1/heartbeats`; a ping's query is read into the same fields. */
export const heartbeatBody: Schema<HeartbeatFields> = z.object({
  id: optional(runId),
  agent,
  status: optional(oneOf(HEARTBEAT_STATUSES)),
  started_at: optional(instant()),
  finished_at: optional(instant()),
  cost_usd: optional(cost()),
  model: label,
  provider: label,
  input_tokens: tokens,
  output_tokens: tokens,
  cached_input_tokens: tokens,
  duration_ms: tokens,
  metadata: optional(object),
  customer_id: optional(customer()),
  feature: label,
  output: optional(anyJson()),
});

const scoreName = `text of 1 to ${SCORE_NAME_CHARS_MAX} characters`;

/** Body of `POST /v1/runs/{id}/scores`. */
export const scoreBody: Schema<ScoreBody> = z.object({
  id: id<ScoreId>("scr"),
  name: z.custom<string>((value) => isScoreName(value), scoreName)
    .meta({ type: "string", minLength: 1, maxLength: SCORE_NAME_CHARS_MAX }),
  value: z.custom<number | boolean>((value) => isScore(value), "a number or a boolean")
    .meta({ type: ["number", "boolean"] }),
  source: optional(name(SCORE_SOURCE_CHARS_MAX, "a source")),
});

/** The verdict on the id (see `judgeId`) is looked up again where the issue becomes a problem. */
function id<Id extends string>(prefix: IdPrefix) {
  const expected = `an id such as ${prefix}_eu_ followed by 32 lowercase hex digits`;
  return z.custom<Id>((value) => judgeId(prefix, value) === "valid", {
    error: expected,
    params: { prefix },
  }).meta(idMeta(prefix));
}

function idMeta(prefix: IdPrefix) {
  return { type: "string", pattern: `^${prefix}_(eu|us)_[0-9a-f]{32}$` };
}

function count() {
  return z.number(COUNT).refine(isCount, COUNT)
    .meta({ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
}

function idleTimeout() {
  const { min, max } = IDLE_TIMEOUT_SECONDS;
  const expected = `an integer from ${min} to ${max}`;
  return z.int(expected).min(min, expected).max(max, expected);
}

function cost() {
  const expected = `a number from 0 to ${COST_USD_MAX}`;
  return z.number(expected).refine(isCost, expected)
    .meta({ minimum: 0, maximum: COST_USD_MAX }).transform(picodollars);
}

/** Pairs, so that no name can be mistaken for a member of an object. */
function scores() {
  const expected = `an object of at most ${SCORES_MAX} numbers or booleans ` +
    `whose names have 1 to ${SCORE_NAME_CHARS_MAX} characters`;
  return z.custom<Record<string, number | boolean>>(isScores, expected)
    .meta({
      type: "object",
      maxProperties: SCORES_MAX,
      propertyNames: { minLength: 1, maxLength: SCORE_NAME_CHARS_MAX },
      additionalProperties: { type: ["number", "boolean"] },
    })
    .transform((scores) => Object.entries(scores));
}
