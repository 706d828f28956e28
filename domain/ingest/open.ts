/**
 * The body of `POST /v1/runs`: schema, repair, fast path and checked request.
 *
 * @module
 */
import { z } from "zod";
import { type Body, type CheckedRequest, checkedRequest, type JsonFields } from "../core/body.ts";
import type { Parsed } from "../core/errors.ts";
import { agentSlug, customer, instant, optional, text } from "../core/fields.ts";
import { judgeId, type RunId } from "../core/ids.ts";
import { GOAL_CHARS_MAX, IDLE_TIMEOUT_SECONDS } from "../core/limits.ts";
import { Losses } from "../core/losses.ts";
import { isAgent } from "../core/rules.ts";
import type { OpenRequest } from "../runs/decide.ts";
import { FINISH_STATUSES } from "../runs/run.ts";
import {
  fastInstant,
  finishStatus,
  idMeta,
  isAbsentOrCustomer,
  isAbsentOrLabel,
  isAbsentOrObject,
  label,
  object,
  runId,
} from "./fields.ts";
import { formOf, metadataOf, type ParseContext, readForm, traceOf } from "./form.ts";
import { keepIf, mendLabels, mendMetadata, mendText, type MutableFields } from "./mend.ts";

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

/** Fields that the fast path leaves to the schema. */
const RARE_FIELDS = {
  parent_run_id: undefined,
  goal: undefined,
  idle_timeout_seconds: undefined,
  idle_timeout_status: undefined,
} as const;

const RARE_NAMES = Object.keys(RARE_FIELDS);

const FORM = formOf(fastOpen, mendOpen, openBody);

/** Parses a `POST /v1/runs`. Its fields are stored in this order. */
export function parseOpen(body: Body, context: ParseContext): Parsed<CheckedRequest<OpenRequest>> {
  const losses = new Losses();
  const parsed = readForm(FORM, body, losses);
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
  mendLabels(fields, text, losses, ["feature"]);
  mendText(fields, text, losses, "goal", GOAL_CHARS_MAX);
  mendMetadata(fields);
  keepIf(fields, losses, "parent_run_id", isRunId);
  keepIf(fields, losses, "idle_timeout_seconds", isIdleTimeout);
  keepIf(fields, losses, "idle_timeout_status", isFinishStatus);
}

/**
 * Validates a `POST /v1/runs` without the schema; null if it has rare fields or the schema must
 * decide.
 *
 * @internal
 */
export function fastOpen(body: JsonFields): OpenBody | null {
  const { id, agent, started_at, customer_id, feature, metadata } = body;
  const startedAt = fastInstant(started_at);
  const isPlain = RARE_NAMES.every((name) => body[name] === undefined) &&
    isRunId(id) && isAgent(agent) && startedAt !== null && isAbsentOrCustomer(customer_id) &&
    isAbsentOrLabel(feature) && isAbsentOrObject(metadata);
  return isPlain
    ? { id, agent, started_at: startedAt, customer_id, feature, metadata, ...RARE_FIELDS }
    : null;
}

function isRunId(value: unknown): value is RunId {
  return judgeId("run", value) === "valid";
}

function isIdleTimeout(value: unknown): boolean {
  const { min, max } = IDLE_TIMEOUT_SECONDS;
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

function isFinishStatus(value: unknown): boolean {
  return FINISH_STATUSES.some((status) => status === value);
}
