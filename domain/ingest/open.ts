/**
 * The body of `POST /v1/runs`: schema, repair, fast path and checked request.
 *
 * @module
 */
import { z } from "zod";
import { type Body, type CheckedRequest, checkedRequest, type JsonFields } from "../core/body.ts";
import type { Parsed } from "../core/errors.ts";
import { agentSlug, customer, instant, optional, text } from "../core/fields.ts";
import { isRunId, type RunId } from "../core/ids.ts";
import { GOAL_CHARS_MAX, IDLE_TIMEOUT_SECONDS } from "../core/limits.ts";
import { Losses } from "../core/losses.ts";
import { isObject } from "../core/raw_json.ts";
import { isAbsentOr, isAgent, isCustomer, isLabel, isText } from "../core/rules.ts";
import type { OpenRequest } from "../runs/decide.ts";
import {
  fastInstant,
  finishStatus,
  idMeta,
  label,
  metadataOf,
  object,
  type ParseContext,
  readerOf,
  runId,
  traceOf,
} from "./form.ts";
import { mendLabels, mendText, type MutableFields, orEmptyObject, removeInvalid } from "./mend.ts";

const IDLE_TIMEOUT = `an integer from ${IDLE_TIMEOUT_SECONDS.min} to ${IDLE_TIMEOUT_SECONDS.max}`;

/**
 * Body of `POST /v1/runs`. Fields are validated in this order.
 *
 * @internal
 */
export const openBody = z.object({
  id: runId,
  agent: agentSlug(),
  started_at: instant(),
  customer_id: optional(customer()),
  feature: label,
  metadata: optional(object),
  parent_run_id: optional(z.custom<RunId>(isRunId, "a run id").meta(idMeta("run"))),
  goal: optional(text(GOAL_CHARS_MAX)),
  idle_timeout_seconds: optional(
    z.int(IDLE_TIMEOUT)
      .min(IDLE_TIMEOUT_SECONDS.min, IDLE_TIMEOUT)
      .max(IDLE_TIMEOUT_SECONDS.max, IDLE_TIMEOUT),
  ),
  idle_timeout_status: optional(finishStatus),
});

type OpenBody = z.output<typeof openBody>;

const read = readerOf(fastOpen, mendOpen, openBody);

/** Parses a `POST /v1/runs`. Its fields are stored in this order. */
export function parseOpen(body: Body, context: ParseContext): Parsed<CheckedRequest<OpenRequest>> {
  const losses = new Losses();
  const parsed = read(body, losses);
  if (!parsed.ok) return parsed;
  const fields = parsed.value;
  const trace = traceOf(context, losses);
  const request: OpenRequest = {
    id: fields.id,
    agent: fields.agent,
    startedAt: fields.started_at,
    customerId: fields.customer_id,
    feature: fields.feature,
    metadata: metadataOf(body, fields.metadata, context, losses),
    goal: fields.goal,
    parentRunId: fields.parent_run_id,
    trace,
    idleTimeoutSeconds: fields.idle_timeout_seconds,
    idleTimeoutStatus: fields.idle_timeout_status,
    flags: losses.flags,
    lost: losses.lost,
  };
  return checkedRequest(request, losses);
}

/**
 * Repairs a `POST /v1/runs`.
 *
 * @internal
 */
export function mendOpen(fields: MutableFields, text: string, losses: Losses): void {
  mendLabels(fields, text, losses, ["customer_id", "feature"]);
  removeInvalid(fields, losses, openBody, ["customer_id"]);
  mendText(fields, text, losses, "goal", GOAL_CHARS_MAX);
  fields.metadata = orEmptyObject(fields.metadata);
  const others = ["parent_run_id", "idle_timeout_seconds", "idle_timeout_status"];
  removeInvalid(fields, losses, openBody, others);
}

/**
 * Validates a `POST /v1/runs` without the schema; null if it has an idle timeout or the schema must
 * decide.
 *
 * @internal
 */
export function fastOpen(body: JsonFields): OpenBody | null {
  const { id, agent, customer_id, feature, metadata, parent_run_id, goal } = body;
  const { idle_timeout_seconds, idle_timeout_status } = body;
  const started_at = fastInstant(body.started_at);
  const isPlain = isRunId(id) && isAgent(agent) && started_at !== null &&
    isAbsentOr(isCustomer, customer_id) && isAbsentOr(isLabel, feature) &&
    isAbsentOr(isObject, metadata) &&
    isAbsentOr(isRunId, parent_run_id) &&
    (goal === undefined || isText(goal, GOAL_CHARS_MAX)) &&
    idle_timeout_seconds === undefined && idle_timeout_status === undefined;
  return !isPlain ? null : {
    id,
    agent,
    started_at,
    customer_id,
    feature,
    metadata,
    parent_run_id,
    goal,
    idle_timeout_seconds,
    idle_timeout_status,
  };
}
