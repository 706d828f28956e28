/** The wire form of runs (decisions, section 6). */
import { z } from "zod";
import { scoreValue as scoreSchema } from "../../../domain/ingest/score.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { AddedScore } from "../../../domain/runs/scores.ts";
import type { EventPosition, PagedEvent, RunPage } from "../../../domain/runs/event_page.ts";
import { type CheckResult, GOT_CHARS_MAX } from "../../../domain/runs/check_result.ts";
import { RUN_FLAGS } from "../../../domain/runs/cost.ts";
import {
  RUN_KINDS,
  RUN_TRAITS,
  type RunLineage,
  type RunListRow,
} from "../../../domain/runs/list.ts";
import { JUDGE_STATES, type JudgeResult, type RunRecord } from "../../../domain/runs/record.ts";
import { CLOSED_BY, type Metadata, type Score, writeMetadata } from "../../../domain/runs/run.ts";
import { type StageProgress, STAGES } from "../../../domain/runs/stages.ts";
import type { RunTrace } from "../../../domain/runs/trace_facts.ts";
import { dollarsText } from "../../../domain/pricing/money.ts";
import { decodeCursor, encodeCursor } from "../../http/query.ts";
import { checkSeverity, checkStatus } from "../checks/fields.ts";
import { configSlug } from "../objects.ts";
import { runStatus } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";

export const runKind = shape.oneOf("RunKind", RUN_KINDS);

export const runTrait = shape.oneOf("RunTrait", RUN_TRAITS);

const costState = shape.object<RunRecord["cost"]>("RunCostState", {
  state: shape.oneOf("CostState", ["pending", "final"])(
    "state",
    "`final` once the run is closed and its full cost is included in the spend.",
  ),
  revision: shape.count(
    "revision",
    "0 until the cost is first final; increases with each later change.",
  ),
  unpriced_models: shape.list(shape.text)("unpricedModels"),
  flags: shape.list(shape.oneOf("CostFlag", ["cached_exceeds_input"]))("flags"),
});

/** Tokens of model calls. */
export const TOKENS: shape.WireFields<
  Pick<RunRecord["usage"], "inputTokens" | "outputTokens" | "cachedInputTokens">
> = {
  input_tokens: shape.count("inputTokens"),
  output_tokens: shape.count("outputTokens"),
  cached_input_tokens: shape.count("cachedInputTokens"),
};

const usage = shape.object<RunRecord["usage"]>("RunUsage", {
  events: shape.count("events"),
  llm_calls: shape.count("llmCalls"),
  tool_calls: shape.count("toolCalls"),
  logs: shape.count("logs"),
  errors: shape.count("errors"),
  ...TOKENS,
  input_tokens: shape.count("inputTokens", "Including cached tokens."),
});

/** Fields of records and of rows in lists. */
export const COMMON = {
  id: shape.id("run")("id"),
  kind: runKind("kind", "Kind of the call that opened the run."),
  agent: shape.text.orNull("agent", "Null while the opening has not arrived."),
  status: shape.wire(runStatus)("status"),
  closed_by: shape.oneOf("ClosedBy", CLOSED_BY).orNull(
    "closedBy",
    "`idle` for a run without a call for its idle timeout. Null while open.",
  ),
  started_at: shape.instant.orNull("startedAt", "Null while the opening has not arrived."),
  finished_at: shape.instant.orNull("finishedAt", "Null while open."),
  received_at: shape.instant.orNull("receivedAt", "Arrival of the opening."),
  duration_ms: shape.integer.orNull("durationMs", "Null while open."),
  flags: shape.list(shape.oneOf("RunFlag", RUN_FLAGS))(
    "flags",
    "Anomalies of the run, and data that was lost from its calls.",
  ),
  customer_id: shape.text.orNull("customerId"),
  feature: shape.text.orNull("feature"),
  cost_usd: shape.dollars(({ cost }) => cost.amount, "Cost of everything stored so far."),
  cost: costState("cost"),
  usage: usage("usage"),
} satisfies shape.WireFields<Pick<RunRecord, keyof RunRecord & keyof RunListRow>>;

const { duration_ms, flags, customer_id, feature, cost_usd, cost, usage: used, ...HEAD } = COMMON;

const ROW: shape.WireFields<RunListRow> = {
  ...HEAD,
  duration_ms,
  flags,
  has: shape.list(runTrait)("has", "Values of the parameter `has` that apply to the run."),
  customer_id,
  feature,
  cost_usd,
  cost,
  usage: used,
};

/** A run in lists. */
export const runRow = shape.object("RunRow", ROW);

const exactDollars = z.string().meta({ pattern: "^[0-9]+(\\.[0-9]+)?$" });

/** A run in exports. Its cost is text, because JSON parsers would round a number. */
export const exportedRun = shape.object<RunListRow>("ExportedRun", {
  ...ROW,
  cost_usd: shape.wire(exactDollars)(
    ({ cost }) => dollarsText(cost.amount),
    "Dollars as decimal text, exact to the picodollar.",
  ),
});

const event = shape.object<PagedEvent>("Event", {
  id: shape.id("evt")("id"),
  type: shape.text("type"),
  ts: shape.instant("ts"),
  received_at: shape.instant("receivedAt"),
  turn: shape.wire(z.number().meta({ type: "integer", minimum: 1 })).optional("turn"),
  data: shape.wire(shape.anyObject.schema, shape.sentJson.write)("data", "As sent."),
  unreadable: shape.list(shape.text).optional(
    "unreadable",
    "Names of numeric fields in `data` that could not be read. Absent if there are none.",
  ),
  ignored: shape.list(shape.text).optional(
    "ignored",
    "Names of fields of the event that the call does not know. Absent if there are none.",
  ),
  cost_usd: shape.dollars.optional(
    ({ type, cost }) => type === "llm_call" ? cost : undefined,
    "Cost of an `llm_call`; absent for other types.",
  ),
  priced_by: shape.wire(z.string().nullable()).optional(
    ({ type, pricedBy }) => type === "llm_call" ? pricedBy?.row.id ?? null : undefined,
    "Id of the rate card row that priced an `llm_call`, or null.",
  ),
  counted_by: shape.id("evt").optional(
    ({ twin }) => twin?.countedBy,
    "Event of another instrumentation that told the same model call, and that is counted instead of " +
      "this one. Absent for all other events.",
  ),
});

const stage = shape.object<StageProgress>("Stage", {
  stage: shape.oneOf("StageName", STAGES)("stage"),
  state: shape.oneOf("StageState", ["pending", "done", "skipped", "retrying", "dead"])("state"),
  attempts: shape.count("attempts"),
  at: shape.instant("at"),
  error: shape.text.optional("error"),
});

/** A number or a boolean. */
export const scoreValue = shape.wire(scoreSchema);

/** A score of the finish, or an added one. */
type AnyScore = Pick<AddedScore, "name" | "value" | "source"> & Partial<AddedScore>;

const score = shape.object<AnyScore>("Score", {
  name: shape.text("name"),
  value: scoreValue("value"),
  source: shape.text(
    "source",
    "`self` for scores of the finish, `event` for scores sent as events.",
  ),
  id: shape.id("(scr|evt)").optional(
    "id",
    "Id of an added score, or of its event; absent for scores of the finish.",
  ),
  received_at: shape.instant.optional("receivedAt", "Absent for scores of the finish."),
});

/** Cursor of the next page of events. */
export const eventsCursor = shape.wire<EventPosition | null>(
  shape.nextCursor.schema,
  (next) => rawOf(next && cursorText(next)),
);

/** A run with one page of its events and its lineage. */
interface RunView extends RunRecord {
  readonly page: RunPage;
  readonly lineage: RunLineage;
}

const isTrue = shape.wire(z.literal(true));

const links = shape.object<RunView>("Links", {
  parent: shape.id("run").orNull(
    ({ opening }) => opening?.parentRunId,
    "As sent; the run may not exist.",
  ),
  children: shape.list(shape.id("run"))(
    ({ lineage }) => lineage.children,
    "Most recently started first.",
  ),
  children_cut: isTrue.optional(
    ({ lineage }) => lineage.hasMore || undefined,
    "Present if there are more children.",
  ),
  cost_cut: isTrue.optional(
    ({ lineage }) => lineage.isCut || undefined,
    "Present if `cost_with_children_usd` does not include all descendants.",
  ),
  trace_id: shape.wire(z.string().meta({ pattern: "^[0-9a-f]{32}$" })).optional(
    ({ opening }) => opening?.trace?.traceId,
    "From the `traceparent` header of the opening.",
  ),
  parent_span_id: shape.wire(z.string().meta({ pattern: "^[0-9a-f]{16}$" })).optional(
    ({ opening }) => opening?.trace?.spanId,
  ),
});

const checkResult = shape.object<CheckResult>("CheckResult", {
  check: shape.wire<string>(configSlug)("check", "Slug of the check."),
  id: shape.id("chk")("id"),
  version: shape.count("version", "Version of the check."),
  severity: checkSeverity("severity", "Severity of that version."),
  status: checkStatus("status"),
  got: shape.text.orNull(
    "got",
    `Values that the expression used, ${GOT_CHARS_MAX} characters at most. Null if skipped, or once ` +
      "the payload has expired.",
  ),
  message: shape.text.orNull(
    "message",
    "What is wrong; null for a `pass`, or once the payload has expired.",
  ),
  reason: shape.text.optional("reason", "Why it is `skipped` or an `error`."),
  at: shape.instant("at", "Time of the judgement."),
  revision: shape.count("revision", "Revision of the cost that was judged."),
});

export const JUDGE_RESULT: shape.WireFields<JudgeResult> = {
  judge: shape.wire<string>(configSlug)("judge", "Slug of the judge."),
  version: shape.count.orNull("version", "Version of the judge; null before its first look."),
  state: shape.oneOf("JudgeState", JUDGE_STATES)(
    "state",
    "`pending`: it waits, or is being judged. `failed` and `skipped` have a `reason`, and so has a " +
      "`pending` one whose last call gave no answer and is repeated.",
  ),
  reason: shape.text.orNull("reason", "Why there is no value, such as `budget`."),
  value: shape.wire<number | boolean>(scoreSchema).orNull("value", "As the model gave it."),
  score: shape.wire<number>(z.number()).orNull("score", "The value on a scale from 0 to 1."),
  passed: shape.boolean.orNull("passed", "True if the score is at least `pass_at`."),
  reasoning: shape.text.orNull(
    "reasoning",
    "The model's words; empty once the payload has expired.",
  ),
  model: shape.text.orNull("model", "Model that was asked."),
  cost_usd: shape.dollars("cost", "Cost of all calls."),
  cost_estimated: shape.boolean(
    "isEstimated",
    "True if a part of the cost is the worst case, because no answer said what a call cost.",
  ),
  latency_ms: shape.count.orNull("latencyMs", "Of the last call."),
  attempts: shape.count("tries", "Calls so far."),
  at: shape.instant.orNull("at", "Time of the end."),
  revision: shape.count.orNull("revision", "Revision of the cost that was judged."),
};

const judgeResult = shape.object("JudgeResult", JUDGE_RESULT);

const runTrace = shape.object<RunTrace>("RunTrace", {
  agent: shape.text.orNull("agent", "Name of its agent so far, also while the run has none."),
  scopes: shape.list(shape.text)("scopes", "Instrumentations that told its model calls, sorted."),
  repeated_calls: shape.count(
    "repeatedCalls",
    "Model calls that several of them told, and that are counted once.",
  ),
});

/** Response of `GET /v1/runs/{id}`. */
export const runAnswer = shape.object<RunView>("Run", {
  ...HEAD,
  updated_at: shape.instant("updatedAt", "Arrival of the latest call that changed the run."),
  duration_ms,
  clock_skew_ms: shape.integer.optional(
    ({ clockSkewMs }) => clockSkewMs ?? undefined,
    "Present only if the client's clock differs considerably from the server's.",
  ),
  flags,
  ignored: shape.list(shape.text).optional(
    ({ ignored }) => ignored.length > 0 ? ignored : undefined,
    "Names of fields or parameters that its opening or its close does not know. Absent if there are " +
      "none.",
  ),
  customer_id,
  feature,
  metadata: shape.wire<Metadata>(shape.anyObject.schema, writeMetadata).orNull("metadata"),
  goal: shape.text.orNull(({ opening }) => opening?.goal),
  output: shape.sentJson(
    ({ output }) => output ?? rawOf(null),
    "Any JSON value, as sent; null if none was sent.",
  ),
  note: shape.text.orNull("note", "The note of a ping, or the error of a failed trace."),
  payload: shape.oneOf("PayloadState", ["partly_removed", "removed"]).optional(
    ({ payload }) => payload === "whole" ? undefined : payload,
    "Present only if some of the payload has expired.",
  ),
  cost_usd,
  cost,
  cost_with_children_usd: shape.dollars(
    ({ cost, lineage }) => cost.amount + lineage.totals.cost,
    "Cost of the run and of all its descendants.",
  ),
  usage: used,
  scores: shape.list(score)(
    ({ scores, addedScores }) => [...scores.map(selfScore), ...addedScores],
    "Scores of the finish, then added scores.",
  ),
  events: shape.list(event)(
    ({ page }) => page.events,
    "One page, ordered by `ts`, then by arrival.",
  ),
  events_cursor: eventsCursor(({ page }) => page.next),
  checks: shape.list(checkResult)("checks", "Results of checks, by slug; empty while open."),
  judge_results: shape.list(judgeResult)("judges", "Results of judges, by slug."),
  incidents: shape.list(shape.id("inc"))("incidents", "Ids of its incidents, oldest first."),
  links: links((run) => run),
  trace: runTrace.optional(
    ({ trace }) => trace ?? undefined,
    "Facts of its spans of OpenTelemetry. Absent without spans.",
  ),
  processing: shape.list(stage)(
    "processing",
    "Processing stages after the close; empty while open.",
  ),
});

function selfScore([name, value]: Score): AnyScore {
  return { name, value, source: "self" };
}

/** Encodes a position as an opaque `events_cursor`. */
export function cursorText({ ts, batch, index }: EventPosition): string {
  return encodeCursor(`${ts}.${batch}.${index}`);
}

/** Decodes a cursor of {@link cursorText}; null when it is invalid. */
export function parseCursor(text: string): EventPosition | null {
  const match = /^(\d{1,16})\.(\d{1,9})\.(\d{1,2})$/.exec(decodeCursor(text) ?? "");
  if (match === null) return null;
  return { ts: Number(match[1]), batch: Number(match[2]), index: Number(match[3]) };
}
