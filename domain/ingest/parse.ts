/**
 * From a body to a checked request, or to the first thing wrong with it (decision 2).
 *
 * @module
 */
import type { FinishRequest, HeartbeatRequest, OpenRequest } from "../runs/decide.ts";
import type { ScoreRequest } from "../runs/scores.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { check, fieldsOf, idProblem, type Schema } from "../core/validate.ts";
import { cutBody, type CutShape } from "./cut_body.ts";
import { Losses } from "../core/losses.ts";
import {
  isEmptyArray,
  type Mend,
  mendFinish,
  mendHeartbeat,
  mendOpen,
  namesInOrder,
  rawMember,
} from "./mend.ts";
import { judgeId, type RunId } from "../core/ids.ts";
import { exceedsBytes, isObject, nestsDeeperThan, type RawJson } from "../core/raw_json.ts";
import { JSON_DEPTH_MAX, OUTPUT_BYTES_MAX } from "../core/limits.ts";
import { fastFinish, fastHeartbeat, fastOpen } from "./fast_path.ts";
import { type Body, type CheckedRequest, checkedRequest, type JsonFields } from "../core/body.ts";
import { keepMetadata, type Metadata } from "../runs/metadata.ts";
import type { Score } from "../runs/run.ts";
import { ownText, printable } from "../core/text.ts";
import { finishBody, heartbeatBody, openBody, scoreBody } from "./schemas.ts";
import { parseTraceparent, type TraceParent } from "../core/traceparent.ts";
import { truncated } from "./truncate.ts";
import { runAllSlices } from "../core/turns.ts";

/** What a score comes from when nothing says so. */
const DEFAULT_SCORE_SOURCE = "api";

/** What a call's body is: `whole` bodies are never cut, but refused where they are too large or too deep. */
export type BodyShape = CutShape | "whole";

/** What parsing depends on besides the body. */
export interface ParseContext {
  /** Metadata labels the plan keeps. */
  readonly metadataKeysMax: number;
  /** Whether the caller is an SDK whose own status words are understood (decisions, section 4). */
  readonly sdkWords: boolean;
  /** The header `traceparent`, unchecked. */
  readonly traceparent?: string | null;
}

/** How the body of one call is read. */
interface Form<T> {
  /** Says yes to what is plainly right. */
  readonly quick: (sent: JsonFields) => T | null;
  /** Mends what is not structure, before the schema judges. */
  readonly mend: Mend;
  readonly schema: Schema<T>;
  /** Names of the fields that the call knows. */
  readonly fields: ReadonlySet<string>;
}

const OPEN = formOf(fastOpen, mendOpen, openBody);
const FINISH = formOf(fastFinish, mendFinish, finishBody);
const HEARTBEAT = formOf(fastHeartbeat, mendHeartbeat, heartbeatBody);
const SCORE_FIELDS = fieldsOf(scoreBody);

/** Reads a body's text: an object (decision 7). One that nests too deep is cut. */
export function parseBody(text: string, shape: BodyShape = "whole"): Parsed<Body> {
  if (nestsDeeperThan(text, JSON_DEPTH_MAX)) {
    if (shape !== "whole") return runAllSlices(cutBody(new TextEncoder().encode(text), shape));
    return refuse(
      "payload_too_large",
      `The body nests deeper than ${JSON_DEPTH_MAX} levels: send a flatter one`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const detail = error instanceof SyntaxError ? printable(error.message) : "";
    return refuse("invalid_json", `The body is not valid JSON: ${detail}`);
  }
  if (isObject(value)) return { ok: true, value: { text, value } };
  return refuse("invalid_json", "The body must be a JSON object, such as {}");
}

/** Checks the id of a path (decision 5). */
export function parseRunId(text: string): Parsed<RunId> {
  const verdict = judgeId("run", text);
  // A slice of the URL, which may be long, and caches keep ids.
  if (verdict === "valid") return { ok: true, value: ownText(text as RunId) };
  return { ok: false, problem: idProblem(verdict, "run", "id", text) };
}

/** Checks a `POST /v1/runs`. */
export function parseOpen(body: Body, context: ParseContext): Parsed<CheckedRequest<OpenRequest>> {
  const losses = new Losses();
  const parsed = read(OPEN, body, losses);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const trace = traceOf(context, losses);
  const request: OpenRequest = {
    id: sent.id,
    agent: sent.agent,
    startedAt: sent.started_at,
    customerId: sent.customer_id,
    feature: sent.feature,
    metadata: metadataOf(body, sent.metadata, context, losses),
    parentRunId: sent.parent_run_id,
    trace,
    goal: sent.goal,
    idleTimeoutSeconds: sent.idle_timeout_seconds,
    idleTimeoutStatus: sent.idle_timeout_status,
    flags: losses.flags,
    lost: losses.lost,
  };
  return checkedRequest(request, losses);
}

/** Checks a `POST /v1/runs/{id}/finish`. */
export function parseFinish(
  body: Body,
  context: ParseContext,
): Parsed<CheckedRequest<FinishRequest>> {
  const losses = new Losses();
  const parsed = read(FINISH, withWord(body, context, "error", "failed"), losses);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const request: FinishRequest = {
    status: sent.status,
    finishedAt: sent.finished_at,
    output: outputOf(body, losses),
    scores: sent.scores && inSentOrder(body, sent.scores),
    metadata: metadataOf(body, sent.metadata, context, losses),
    flags: losses.flags,
    lost: losses.lost,
  };
  return checkedRequest(request, losses);
}

/** A heartbeat whose id may still have to be minted. */
export type HeartbeatBody = Omit<HeartbeatRequest, "id"> & { readonly id: RunId | undefined };

/**
 * Checks a `POST /v1/heartbeats`, or a ping whose query was read into the same fields.
 *
 * @param losses what is known already to be lost
 */
export function parseHeartbeat(
  body: Body,
  context: ParseContext,
  losses: Losses = new Losses(),
): Parsed<CheckedRequest<HeartbeatBody>> {
  const parsed = read(HEARTBEAT, withWord(body, context, "failed", "fail"), losses);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const trace = traceOf(context, losses);
  const request: HeartbeatBody = {
    id: sent.id,
    agent: sent.agent,
    status: sent.status ?? "ok",
    startedAt: sent.started_at,
    finishedAt: sent.finished_at,
    durationMs: sent.duration_ms,
    reported: {
      cost: sent.cost_usd,
      model: sent.model,
      provider: sent.provider,
      inputTokens: sent.input_tokens,
      outputTokens: sent.output_tokens,
      cachedInputTokens: sent.cached_input_tokens,
    },
    metadata: metadataOf(body, sent.metadata, context, losses),
    customerId: sent.customer_id,
    feature: sent.feature,
    output: outputOf(body, losses),
    trace,
    flags: losses.flags,
    lost: losses.lost,
  };
  return checkedRequest(request, losses);
}

/** Checks a `POST /v1/runs/{id}/scores`. */
export function parseScore(body: Body): Parsed<CheckedRequest<ScoreRequest>> {
  const losses = new Losses();
  losses.ignoreUnknown(body.value, SCORE_FIELDS);
  const parsed = check(null, scoreBody, body.value);
  if (!parsed.ok) return parsed;
  const { id, name, value, source } = parsed.value;
  return checkedRequest({ id, name, value, source: source ?? DEFAULT_SCORE_SOURCE }, losses);
}

function formOf<T>(quick: Form<T>["quick"], mend: Mend, schema: Schema<T>): Form<T> {
  return { quick, mend, schema, fields: fieldsOf(schema) };
}

/** Checks a body: what its quick check does not take is mended and judged by the schema. */
function read<T>({ quick, mend, schema, fields }: Form<T>, body: Body, losses: Losses): Parsed<T> {
  losses.ignoreUnknown(body.value, fields);
  const leftOut = [...body.leftOut ?? []].filter(([name]) => fields.has(name));
  const plain = leftOut.length === 0 ? quick(body.value) : null;
  if (plain !== null) return { ok: true, value: plain };
  const known = Object.fromEntries([...fields].map((name) => [name, body.value[name]]));
  mend(known, body.text, losses);
  // What mending took away is told already.
  for (const [name, lost] of leftOut) if (known[name] !== undefined) losses.remove(name, lost);
  return check(null, schema, known);
}

/** The trace of a request; a header that cannot be read is dropped (R9). */
function traceOf({ traceparent }: ParseContext, losses: Losses): TraceParent | undefined {
  const trace = parseTraceparent(traceparent);
  if (trace === undefined && (traceparent ?? null) !== null) losses.remove("traceparent");
  return trace;
}

function metadataOf(
  body: Body,
  sent: unknown,
  context: ParseContext,
  losses: Losses,
): Metadata | undefined {
  const raw = sent === undefined ? undefined : rawMember(body.text, "metadata") as RawJson;
  if (raw === undefined) return undefined;
  const { kept, dropped } = keepMetadata(raw, context.metadataKeysMax);
  losses.drop("metadata", dropped);
  return kept;
}

/** Scores in the order of the text, which parsing keeps but for names that look like integers. */
function inSentOrder(body: Body, scores: readonly Score[]): readonly Score[] {
  if (!scores.some(([name]) => /^\d/.test(name))) return scores;
  const values = new Map(scores);
  return namesInOrder(body.text, (name) => values.has(name)).flatMap((name) => {
    const value = values.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
}

/** The output as sent; one that is too large or too deep is truncated (R7). */
function outputOf(body: Body, losses: Losses): RawJson | undefined {
  const sent = body.value.output ?? null;
  const raw = sent === null ? undefined : rawMember(body.text, "output") as RawJson;
  if (isEmptyArray(sent)) return "{}" as RawJson;
  if (raw === undefined || !isTooLarge(body, raw)) return raw;
  losses.cut("output");
  return truncated(raw);
}

/** Whether an output is too large or too deep. Only a body that was cut can be too deep. */
function isTooLarge({ leftOut }: Body, output: RawJson): boolean {
  return exceedsBytes(output, OUTPUT_BYTES_MAX) ||
    leftOut !== undefined && nestsDeeperThan(output, JSON_DEPTH_MAX);
}

/** Takes the one status word an SDK is known to send for another (decisions, section 4). */
function withWord(body: Body, context: ParseContext, sent: string, meant: string): Body {
  const isSent = context.sdkWords && body.value.status === sent;
  return isSent ? { ...body, value: { ...body.value, status: meant } } : body;
}
