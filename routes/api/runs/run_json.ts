/** The wire form of runs (decisions, section 6). */
import { z } from "zod";
import { scoreValue as scoreSchema } from "../../../domain/ingest/score.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { AddedScore } from "../../../domain/runs/scores.ts";
import type { EventPosition, PagedEvent, RunPage } from "../../../domain/runs/event_page.ts";
import { type CheckResult, GOT_CHARS_MAX } from "../../../domain/runs/check_result.ts";
import { RUN_FLAGS } from "../../../domain/runs/flags.ts";
import {
  RUN_KINDS,
  RUN_TRAITS,
  type RunLineage,
  type RunListRow,
} from "../../../domain/runs/list.ts";
import { type Metadata, writeMetadata } from "../../../domain/runs/metadata.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { CLOSED_BY, type Score } from "../../../domain/runs/run.ts";
import { type StageProgress, STAGES } from "../../../domain/runs/stages.ts";
import { dollarsText } from "../../../domain/pricing/money.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { checkSeverity, checkStatus } from "../checks/fields.ts";
import { configSlug } from "../config/fields.ts";
import { runStatus } from "../../openapi/fields.ts";
import {
  anyObject,
  countValue,
  dollarsValue,
  idValue,
  instantValue,
  integerValue,
  listValue,
  nextCursor,
  objectValue,
  oneOfValue,
  sentJson,
  textValue,
  wire,
  type WireFields,
} from "../../openapi/wire.ts";

export const runKind = oneOfValue("RunKind", RUN_KINDS);

export const runTrait = oneOfValue("RunTrait", RUN_TRAITS);

const costState = objectValue<RunRecord["cost"]>("RunCostState", {
  state: oneOfValue("CostState", ["pending", "final"])(
    "state",
    "`final` once the run is closed and its full cost is included in the spend.",
  ),
  revision: countValue(
    "revision",
    "0 until the cost is first final; increases with each later change.",
  ),
  unpriced_models: listValue(textValue)("unpricedModels"),
  flags: listValue(oneOfValue("CostFlag", ["cached_exceeds_input"]))("flags"),
});

/** Tokens of model calls. */
export const TOKENS: WireFields<
  Pick<RunRecord["usage"], "inputTokens" | "outputTokens" | "cachedInputTokens">
> = {
  input_tokens: countValue("inputTokens"),
  output_tokens: countValue("outputTokens"),
  cached_input_tokens: countValue("cachedInputTokens"),
};

const usage = objectValue<RunRecord["usage"]>("RunUsage", {
  events: countValue("events"),
  llm_calls: countValue("llmCalls"),
  tool_calls: countValue("toolCalls"),
  logs: countValue("logs"),
  errors: countValue("errors"),
  ...TOKENS,
  input_tokens: countValue("inputTokens", "Including cached tokens."),
});

/** Fields of records and of rows in lists. */
export const COMMON = {
  id: idValue("run")("id"),
  kind: runKind("kind", "Kind of the call that opened the run."),
  agent: textValue.orNull("agent", "Null while the opening has not arrived."),
  status: wire(runStatus)("status"),
  closed_by: oneOfValue("ClosedBy", CLOSED_BY).orNull(
    "closedBy",
    "`idle` for a run without a call for its idle timeout. Null while open.",
  ),
  started_at: instantValue.orNull("startedAt", "Null while the opening has not arrived."),
  finished_at: instantValue.orNull("finishedAt", "Null while open."),
  received_at: instantValue.orNull("receivedAt", "Arrival of the opening."),
  duration_ms: integerValue.orNull("durationMs", "Null while open."),
  flags: listValue(oneOfValue("RunFlag", RUN_FLAGS))(
    "flags",
    "Anomalies of the run, and data that was lost from its calls.",
  ),
  customer_id: textValue.orNull("customerId"),
  feature: textValue.orNull("feature"),
  cost_usd: dollarsValue(({ cost }) => cost.amount, "Cost of everything stored so far."),
  cost: costState("cost"),
  usage: usage("usage"),
} satisfies WireFields<Pick<RunRecord, keyof RunRecord & keyof RunListRow>>;

const { duration_ms, flags, customer_id, feature, cost_usd, cost, usage: used, ...HEAD } = COMMON;

const ROW: WireFields<RunListRow> = {
  ...HEAD,
  duration_ms,
  flags,
  has: listValue(runTrait)("has", "Values of the parameter `has` that apply to the run."),
  customer_id,
  feature,
  cost_usd,
  cost,
  usage: used,
};

/** A run in lists. */
export const runRow = objectValue("RunRow", ROW);

const exactDollars = z.string().meta({ pattern: "^[0-9]+(\\.[0-9]+)?$" });

/** A run in exports. Its cost is text, because JSON parsers would round a number. */
export const exportedRun = objectValue<RunListRow>("ExportedRun", {
  ...ROW,
  cost_usd: wire(exactDollars)(
    ({ cost }) => dollarsText(cost.amount),
    "Dollars as decimal text, exact to the picodollar.",
  ),
});

const event = objectValue<PagedEvent>("Event", {
  id: idValue("evt")("id"),
  type: textValue("type"),
  ts: instantValue("ts"),
  received_at: instantValue("receivedAt"),
  turn: wire(z.number().meta({ type: "integer", minimum: 1 })).optional("turn"),
  data: wire(anyObject.schema, sentJson.write)("data", "As sent."),
  unreadable: listValue(textValue).optional(
    "unreadable",
    "Names of numeric fields in `data` that could not be read. Absent if there are none.",
  ),
  ignored: listValue(textValue).optional(
    "ignored",
    "Names of fields of the event that the call does not know. Absent if there are none.",
  ),
  cost_usd: dollarsValue.optional(
    ({ type, cost }) => type === "llm_call" ? cost : undefined,
    "Cost of an `llm_call`; absent for other types.",
  ),
  priced_by: wire(z.string().nullable()).optional(
    ({ type, pricedBy }) => type === "llm_call" ? pricedBy?.row.id ?? null : undefined,
    "Id of the rate card row that priced an `llm_call`, or null.",
  ),
});

const stage = objectValue<StageProgress>("Stage", {
  stage: oneOfValue("StageName", STAGES)("stage"),
  state: oneOfValue("StageState", ["pending", "done", "skipped", "retrying", "dead"])("state"),
  attempts: countValue("attempts"),
  at: instantValue("at"),
  error: textValue.optional("error"),
});

/** A number or a boolean. */
export const scoreValue = wire(scoreSchema);

/** A score of the finish, or an added one. */
type AnyScore = Pick<AddedScore, "name" | "value" | "source"> & Partial<AddedScore>;

const score = objectValue<AnyScore>("Score", {
  name: textValue("name"),
  value: scoreValue("value"),
  source: textValue(
    "source",
    "`self` for scores of the finish, `event` for scores sent as events.",
  ),
  id: idValue("(scr|evt)").optional(
    "id",
    "Id of an added score, or of its event; absent for scores of the finish.",
  ),
  received_at: instantValue.optional("receivedAt", "Absent for scores of the finish."),
});

/** Cursor of the next page of events. */
export const eventsCursor = wire<EventPosition | null>(
  nextCursor.schema,
  (next) => rawOf(next && cursorText(next)),
);

/** A run with one page of its events and its lineage. */
interface RunView extends RunRecord {
  readonly page: RunPage;
  readonly lineage: RunLineage;
}

const isTrue = wire(z.literal(true));

const links = objectValue<RunView>("Links", {
  parent: idValue("run").orNull(
    ({ opening }) => opening?.parentRunId,
    "As sent; the run may not exist.",
  ),
  children: listValue(idValue("run"))(
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
  trace_id: wire(z.string().meta({ pattern: "^[0-9a-f]{32}$" })).optional(
    ({ opening }) => opening?.trace?.traceId,
    "From the `traceparent` header of the opening.",
  ),
  parent_span_id: wire(z.string().meta({ pattern: "^[0-9a-f]{16}$" })).optional(
    ({ opening }) => opening?.trace?.spanId,
  ),
});

const checkResult = objectValue<CheckResult>("CheckResult", {
  check: wire<string>(configSlug)("check", "Slug of the check."),
  id: idValue("chk")("id"),
  version: countValue("version", "Version of the check."),
  severity: checkSeverity("severity", "Severity of that version."),
  status: checkStatus("status"),
  got: textValue.orNull(
    "got",
    `Values that the expression used, ${GOT_CHARS_MAX} characters at most. Null if skipped, or once ` +
      "the payload has expired.",
  ),
  message: textValue.orNull(
    "message",
    "What is wrong; null for a `pass`, or once the payload has expired.",
  ),
  reason: textValue.optional("reason", "Why it is `skipped` or an `error`."),
  at: instantValue("at", "Time of the judgement."),
  revision: countValue("revision", "Revision of the cost that was judged."),
});

/** Response of `GET /v1/runs/{id}`. */
export const runAnswer = objectValue<RunView>("Run", {
  ...HEAD,
  updated_at: instantValue("updatedAt", "Arrival of the latest call that changed the run."),
  duration_ms,
  clock_skew_ms: integerValue.optional(
    ({ clockSkewMs }) => clockSkewMs ?? undefined,
    "Present only if the client's clock differs considerably from the server's.",
  ),
  flags,
  ignored: listValue(textValue).optional(
    ({ ignored }) => ignored.length > 0 ? ignored : undefined,
    "Names of fields or parameters that its opening or its close does not know. Absent if there are " +
      "none.",
  ),
  customer_id,
  feature,
  metadata: wire<Metadata>(anyObject.schema, writeMetadata).orNull("metadata"),
  goal: textValue.orNull(({ opening }) => opening?.goal),
  output: sentJson(
    ({ output }) => output ?? rawOf(null),
    "Any JSON value, as sent; null if none was sent.",
  ),
  note: textValue.orNull("note", "The note of a ping."),
  payload: oneOfValue("PayloadState", ["partly_removed", "removed"]).optional(
    ({ payload }) => payload === "whole" ? undefined : payload,
    "Present only if some of the payload has expired.",
  ),
  cost_usd,
  cost,
  cost_with_children_usd: dollarsValue(
    ({ cost, lineage }) => cost.amount + lineage.cost,
    "Cost of the run and of all its descendants.",
  ),
  usage: used,
  scores: listValue(score)(
    ({ scores, addedScores }) => [...scores.map(selfScore), ...addedScores],
    "Scores of the finish, then added scores.",
  ),
  events: listValue(event)(
    ({ page }) => page.events,
    "One page, ordered by `ts`, then by arrival.",
  ),
  events_cursor: eventsCursor(({ page }) => page.next),
  checks: listValue(checkResult)("checks", "Results of checks, by slug; empty while open."),
  judge_results: listValue(anyObject)(() => []),
  incidents: listValue(idValue("inc"))("incidents", "Ids of its incidents, oldest first."),
  links: links((run) => run),
  processing: listValue(stage)(
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
