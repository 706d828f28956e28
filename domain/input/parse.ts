/**
 * From a body to a checked request, or to the first thing wrong with it (decision 2).
 *
 * @module
 */
import type { FinishRequest, HeartbeatRequest, OpenRequest } from "../run/decide.ts";
import type { CredentialSpec } from "../ports.ts";
import type { ScoreRequest } from "../run/scores.ts";
import { type Parsed, refuse } from "../errors.ts";
import { check, idProblem } from "./check.ts";
import { cutBody, type CutShape } from "./cut_body.ts";
import { judgeId, type RunId } from "../run/ids.ts";
import { exceedsBytes, isObject, nestsDeeperThan, type RawJson, rawMembers } from "./json.ts";
import { JSON_DEPTH_MAX, OUTPUT_BYTES_MAX } from "../limits.ts";
import { quickFinish, quickHeartbeat, quickOpen } from "./quick.ts";
import { keepMetadata, type KeptMetadata } from "../run/metadata.ts";
import type { Score } from "../run/run.ts";
import { ownText, printable } from "./text.ts";
import { finishBody, heartbeatBody, keyBody, openBody, scoreBody } from "./schemas.ts";
import { parseTraceparent } from "./traceparent.ts";
import type { CutEvent } from "./truncate.ts";
import { allTurns } from "./turns.ts";

/** What a score comes from when nothing says so. */
const DEFAULT_SCORE_SOURCE = "api";

/** A body that is a JSON object, as its text and as its value. */
export interface Body {
  /** The text as sent. */
  readonly text: string;
  /** The object it parses to. */
  readonly value: Readonly<Record<string, unknown>>;
  /** The events of a batch that was cut, see `cutBody`. */
  readonly events?: readonly CutEvent[];
  /** Fields left out of a body that was cut. */
  readonly leftOut?: readonly string[];
}

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

/** A checked request, and how many metadata labels the plan dropped from it. */
export interface Kept<T> {
  /** The request to decide. */
  readonly request: T;
  /** Labels dropped; told in `Runledger-Dropped`. */
  readonly dropped: number;
}

/** Reads a body's text: an object (decision 7). One that nests too deep is cut. */
export function parseBody(text: string, shape: BodyShape = "whole"): Parsed<Body> {
  if (nestsDeeperThan(text, JSON_DEPTH_MAX)) {
    if (shape !== "whole") return allTurns(cutBody(new TextEncoder().encode(text), shape));
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
export function parseOpen(body: Body, context: ParseContext): Parsed<Kept<OpenRequest>> {
  const parsed = check(quickOpen, openBody, body.value);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const { kept, dropped } = metadataOf(body, sent.metadata, context);
  const request: OpenRequest = {
    id: sent.id,
    agent: sent.agent,
    startedAt: sent.started_at,
    customerId: sent.customer_id,
    feature: sent.feature,
    metadata: kept,
    parentRunId: sent.parent_run_id,
    trace: parseTraceparent(context.traceparent),
    goal: sent.goal,
    idleTimeoutSeconds: sent.idle_timeout_seconds,
    idleTimeoutStatus: sent.idle_timeout_status,
  };
  return { ok: true, value: { request, dropped } };
}

/** Checks a `POST /v1/runs/{id}/finish`. */
export function parseFinish(body: Body, context: ParseContext): Parsed<Kept<FinishRequest>> {
  const output = outputOf(body);
  if (!output.ok) return output;
  const parsed = check(quickFinish, finishBody, withWord(body.value, context, "error", "failed"));
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const { kept, dropped } = metadataOf(body, sent.metadata, context);
  const request: FinishRequest = {
    status: sent.status,
    finishedAt: sent.finished_at,
    output: output.value,
    scores: sent.scores && inSentOrder(body, sent.scores),
    metadata: kept,
  };
  return { ok: true, value: { request, dropped } };
}

/** A heartbeat whose id may still have to be minted. */
export type HeartbeatBody = Omit<HeartbeatRequest, "id"> & { readonly id: RunId | undefined };

/** Checks a `POST /v1/heartbeats`, or a ping whose query was read into the same fields. */
export function parseHeartbeat(body: Body, context: ParseContext): Parsed<Kept<HeartbeatBody>> {
  const output = outputOf(body);
  if (!output.ok) return output;
  const parsed = check(
    quickHeartbeat,
    heartbeatBody,
    withWord(body.value, context, "failed", "fail"),
  );
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const { kept, dropped } = metadataOf(body, sent.metadata, context);
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
    metadata: kept,
    customerId: sent.customer_id,
    feature: sent.feature,
    output: output.value,
    trace: parseTraceparent(context.traceparent),
  };
  return { ok: true, value: { request, dropped } };
}

/** Checks a `POST /v1/runs/{id}/scores`. */
export function parseScore(body: Body): Parsed<ScoreRequest> {
  const parsed = check(null, scoreBody, body.value);
  if (!parsed.ok) return parsed;
  const { id, name, value, source } = parsed.value;
  return { ok: true, value: { id, name, value, source: source ?? DEFAULT_SCORE_SOURCE } };
}

/** Checks a `POST /v1/keys`. */
export function parseKey(body: Body): Parsed<CredentialSpec> {
  const parsed = check(null, keyBody, body.value);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const grant = sent.kind === "api_key"
    ? { kind: sent.kind, scopes: [...new Set(sent.scopes ?? ["ingest" as const])] }
    : { kind: sent.kind, agent: sent.agent };
  return { ok: true, value: { name: sent.name, grant } };
}

function metadataOf(body: Body, sent: unknown, context: ParseContext): Partial<KeptMetadata> & {
  readonly dropped: number;
} {
  const raw = sent === undefined ? undefined : rawMembers(body.text).get("metadata");
  return raw === undefined ? { dropped: 0 } : keepMetadata(raw, context.metadataKeysMax);
}

/** Scores in the order of the text: parsing moves names that look like integers to the front. */
function inSentOrder(body: Body, scores: readonly Score[]): Score[] {
  const names = [...rawMembers(rawMembers(body.text).get("scores") ?? "{}").keys()];
  const values = new Map(scores);
  return names.flatMap((name) => {
    const value = values.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
}

/** The output as sent. Its size is settled before any field is looked at (decision 2). */
function outputOf(body: Body): Parsed<RawJson | undefined> {
  const sent = body.value.output ?? null;
  const raw = sent === null ? undefined : rawMembers(body.text).get("output");
  if (raw === undefined || !exceedsBytes(raw, OUTPUT_BYTES_MAX)) return { ok: true, value: raw };
  const message = `"output" is larger than ${OUTPUT_BYTES_MAX} bytes: send less, or a reference`;
  return refuse("payload_too_large", message, "output");
}

/** Takes the one status word an SDK is known to send for another (decisions, section 4). */
function withWord(
  value: Body["value"],
  context: ParseContext,
  sent: string,
  meant: string,
): Body["value"] {
  return context.sdkWords && value.status === sent ? { ...value, status: meant } : value;
}
