/** The wire form of a full run (decisions, section 6). */
import { type RawJson, rawOf, writeObject } from "../../../domain/core/raw_json.ts";
import { writeMetadata } from "../../../domain/runs/metadata.ts";
import { exactCount } from "../../../domain/core/exact_number.ts";
import { dollars } from "../../../domain/pricing/money.ts";
import type { EventPosition, PagedEvent, RunPage } from "../../../domain/runs/event_page.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import type { RunLineage } from "../../../domain/runs/list.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { StageProgress } from "../../../domain/runs/stages.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { formatInstant, formatInstantOrNull } from "../../../domain/core/time.ts";

/** Writes a run with one page of its events and its lineage. */
export function runJson(
  id: RunId,
  page: RunPage,
  lineage: RunLineage,
  eventsCursor: string | null,
): RawJson {
  const run = assemble(id, page);
  return writeObject([
    ["id", rawOf(run.id)],
    ["kind", rawOf(run.kind)],
    ["agent", rawOf(run.agent)],
    ["status", rawOf(run.status)],
    ["started_at", instantText(run.startedAt)],
    ["finished_at", instantText(run.finishedAt)],
    ["received_at", instantText(run.receivedAt)],
    ["updated_at", instantText(run.updatedAt)],
    ["duration_ms", rawOf(run.durationMs)],
    ["clock_skew_ms", run.clockSkewMs === null ? undefined : rawOf(run.clockSkewMs)],
    ["flags", rawOf(run.flags)],
    ["customer_id", rawOf(run.customerId)],
    ["feature", rawOf(run.feature)],
    ["metadata", writeMetadata(run.metadata)],
    ["goal", rawOf(run.opening?.goal ?? null)],
    ["output", run.output ?? "null"],
    ["note", rawOf(run.note)],
    ["payload", run.payload === "whole" ? undefined : rawOf(run.payload)],
    ["cost_usd", rawOf(dollars(run.cost.amount))],
    ["cost", costJson(run.cost)],
    ["cost_with_children_usd", rawOf(dollars(run.cost.amount + lineage.cost))],
    ["usage", usageJson(run.usage)],
    ["scores", rawOf(scoreFields(run))],
    ["events", `[${page.events.map(eventJson).join(",")}]`],
    ["events_cursor", rawOf(eventsCursor)],
    ["checks", "[]"],
    ["judge_results", "[]"],
    ["links", rawOf(linkFields(run, lineage))],
    ["processing", rawOf(run.processing.map(stageJson))],
  ]);
}

/** Writes the state of a cost. */
export function costJson({ state, revision, unpricedModels, flags }: RunRecord["cost"]): RawJson {
  return rawOf({ state, revision, unpriced_models: unpricedModels, flags });
}

/** Wire fields of the scores: those of the finish, then added ones. */
function scoreFields({ scores, addedScores }: RunRecord) {
  return [
    ...scores.map(([name, value]) => ({ name, value, source: "self" })),
    ...addedScores.map(({ id, name, value, source, receivedAt }) => ({
      name,
      value,
      source,
      id,
      received_at: formatInstant(receivedAt),
    })),
  ];
}

/** Wire fields of a run's links; flags that are false are left out. */
function linkFields({ opening }: RunRecord, lineage: RunLineage) {
  const { children, hasMore, isCut } = lineage;
  const trace = opening?.trace;
  return {
    parent: opening?.parentRunId ?? null,
    children,
    ...hasMore ? { children_cut: true } : {},
    ...isCut ? { cost_cut: true } : {},
    ...trace === undefined ? {} : { trace_id: trace.traceId, parent_span_id: trace.spanId },
  };
}

/** Writes the usage of a run. */
export function usageJson(usage: RunRecord["usage"]): RawJson {
  return rawOf({
    events: usage.events,
    llm_calls: usage.llmCalls,
    tool_calls: usage.toolCalls,
    logs: usage.logs,
    errors: usage.errors,
    input_tokens: exactCount(usage.inputTokens),
    output_tokens: exactCount(usage.outputTokens),
    cached_input_tokens: exactCount(usage.cachedInputTokens),
  });
}

function eventJson(event: PagedEvent): RawJson {
  return writeObject([
    ["id", rawOf(event.id)],
    ["type", rawOf(event.type)],
    ["ts", instantText(event.ts)],
    ["received_at", instantText(event.receivedAt)],
    ["turn", event.turn === undefined ? undefined : rawOf(event.turn)],
    ["data", event.data],
    ["unreadable", event.unreadable === undefined ? undefined : rawOf(event.unreadable)],
    ["cost_usd", event.type === "llm_call" ? rawOf(dollars(event.cost)) : undefined],
    ["priced_by", event.type === "llm_call" ? rawOf(event.pricedBy?.row.id ?? null) : undefined],
  ]);
}

function stageJson({ stage, state, attempts, at, error }: StageProgress) {
  return { stage, state, attempts, at: formatInstant(at), error };
}

/** Writes an instant, or null. */
export function instantText(ms: number | null): RawJson {
  return rawOf(formatInstantOrNull(ms));
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
