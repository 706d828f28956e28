/**
 * Quick checks: they say yes to what is plainly right, and `null` to everything else.
 *
 * A body that gets `null` goes to its schema, which decides, and words the refusal. So these hold no
 * rule of their own: a property test proves that what they accept is what the schema makes of it. They
 * are here because the schemas take 6 to 8 times as long (`docs/PERFORMANCE.md`).
 *
 * @module
 */
import type { EventBody, FinishBody, HeartbeatFields, OpenBody } from "./bodies.ts";
import { type EventId, judgeId, type RunId } from "../core/ids.ts";
import { isObject } from "../core/raw_json.ts";
import { EVENT_TYPE_CHARS_MAX, LABEL_CHARS_MAX } from "../core/limits.ts";
import { picodollars } from "../pricing/money.ts";
import { FINISH_STATUSES, HEARTBEAT_STATUSES } from "../runs/run.ts";
import { isAgent, isCost, isCount, isCustomer, isName, isScores, isText } from "../core/rules.ts";
import { parseInstant } from "../core/time.ts";
import type { JsonFields } from "../core/body.ts";

/** `POST /v1/runs` without the rarer fields. */
export function fastOpen(sent: JsonFields): OpenBody | null {
  const { id, agent, started_at, customer_id, feature, metadata } = sent;
  const rare = sent.parent_run_id ?? sent.goal ?? sent.idle_timeout_seconds ??
    sent.idle_timeout_status;
  const startedAt = instant(started_at);
  const right = rare === undefined && judgeId("run", id) === "valid" &&
    isAgent(agent) && startedAt !== null && isAbsentOrCustomer(customer_id) &&
    isLabel(feature) && isAbsentOrObject(metadata);
  return !right ? null : {
    id: id as RunId,
    agent: agent,
    started_at: startedAt,
    customer_id,
    feature,
    metadata,
    parent_run_id: undefined,
    goal: undefined,
    idle_timeout_seconds: undefined,
    idle_timeout_status: undefined,
  };
}

/** One event. */
export function fastEvent(sent: JsonFields): EventBody | null {
  // SDKs send external_id in the place of id (decision 19).
  const id = sent.id ?? sent.external_id;
  const { type, data } = sent;
  const ts = instant(sent.ts);
  const right = judgeId("evt", id) === "valid" && isType(type) && ts !== null &&
    isObject(data) && sent.turn === undefined;
  return right ? { id: id as EventId, type, ts, data, turn: undefined } : null;
}

/** `POST /v1/runs/{id}/finish`. */
export function fastFinish(sent: JsonFields): FinishBody | null {
  const { output, scores, metadata } = sent;
  const status = wordOf(FINISH_STATUSES, sent.status);
  const finished_at = instant(sent.finished_at);
  const right = status !== null && finished_at !== null &&
    (scores === undefined || isScores(scores)) && isAbsentOrObject(metadata);
  if (!right) return null;
  const pairs = scores === undefined ? undefined : Object.entries(scores);
  return { status, finished_at, output: output ?? undefined, scores: pairs, metadata };
}

/** `POST /v1/heartbeats`. */
export function fastHeartbeat(sent: JsonFields): HeartbeatFields | null {
  const { id, agent, cost_usd, model, provider, input_tokens, output_tokens } = sent;
  const { cached_input_tokens, duration_ms, metadata, customer_id, feature, output } = sent;
  const status = sent.status === undefined ? "ok" : wordOf(HEARTBEAT_STATUSES, sent.status);
  const started_at = sent.started_at === undefined ? undefined : instant(sent.started_at);
  const finished_at = sent.finished_at === undefined ? undefined : instant(sent.finished_at);
  const right = (id === undefined || judgeId("run", id) === "valid") &&
    isAgent(agent) && status !== null && started_at !== null &&
    finished_at !== null && (cost_usd === undefined || isCost(cost_usd)) && isLabel(model) &&
    isLabel(provider) && isAbsentOrCount(input_tokens) && isAbsentOrCount(output_tokens) &&
    isAbsentOrCount(cached_input_tokens) && isAbsentOrCount(duration_ms) &&
    isAbsentOrObject(metadata) && isAbsentOrCustomer(customer_id) && isLabel(feature);
  return !right ? null : {
    id: id as RunId | undefined,
    agent,
    status: sent.status === undefined ? undefined : status,
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

/** The types that are counted are names; any other is looked at. */
function isType(value: unknown): value is string {
  return value === "llm_call" || value === "tool_call" || value === "log" ||
    isName(value, EVENT_TYPE_CHARS_MAX);
}

function instant(value: unknown): number | null {
  return typeof value === "string" ? parseInstant(value) : null;
}

function wordOf<T extends string>(words: readonly T[], value: unknown): T | null {
  return words.find((word) => word === value) ?? null;
}

function isLabel(value: unknown): value is string | undefined {
  return value === undefined || isText(value, LABEL_CHARS_MAX);
}

function isAbsentOrCustomer(value: unknown): value is string | undefined {
  return value === undefined || isCustomer(value);
}

function isAbsentOrCount(value: unknown): value is number | undefined {
  return value === undefined || isCount(value);
}

function isAbsentOrObject(value: unknown): value is Record<string, unknown> | undefined {
  return value === undefined || isObject(value);
}
