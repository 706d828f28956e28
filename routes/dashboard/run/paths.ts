/** Paths of a run's pages and of the pages they link to. */
import type { EventPosition, PositionedEvent } from "../../../domain/runs/event_page.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import { cursorText } from "../../api/runs/run_json.ts";
import { queryText, runPath } from "../layout/paths.ts";

/** Kinds of steps that the waterfall can be filtered by. */
export const STEP_KINDS = ["model", "tool", "log"] as const;

/** State of a run's page, as its URL has it. */
export interface TraceView {
  /** Position that the page of events follows; null for the first page. */
  readonly after: EventPosition | null;
  /** Id of the child run that is unfolded; null for the default. */
  readonly open: string | null;
  readonly kind: typeof STEP_KINDS[number] | null;
  readonly failed: boolean;
  /** Text to find; empty for none. */
  readonly text: string;
  /** Id of the selected event; null for the default. */
  readonly event: string | null;
  /** Id of the child run that has the selected event; null for the run of the page. */
  readonly inRun: string | null;
  /** Query of the list that led to the page; null for none. */
  readonly list: string | null;
}

/** Events of a page of a long run. */
export const ROWS_PER_PAGE = 100;

/** Maximum steps of a trace that is read as one, with its child runs unfolded. */
export const UNFOLDED_STEPS_MAX = 200;

/** Maximum children listed; the record lists more. */
export const CHILDREN_LISTED = 25;

/** Returns whether a view has a filter. */
export function isFiltered({ kind, failed, text }: TraceView): boolean {
  return kind !== null || failed || text !== "";
}

const TYPES = { model: "llm_call", tool: "tool_call", log: "log" } as const;

/** Returns whether an event matches the filters. */
export function matchesEvent(
  { type, data }: Pick<PositionedEvent, "type" | "data">,
  { kind, failed, text }: TraceView,
): boolean {
  if (kind !== null && type !== TYPES[kind]) return false;
  if (text !== "" && !`${type} ${data}`.toLowerCase().includes(text.toLowerCase())) return false;
  return !failed || storedFacts(type, data).error;
}

/** Sort after every batch, and after every event of a batch. */
const LAST = { batch: 999_999_999, index: 99 } as const;

/** Sorts before every event: a failed run would open at its failure without a position. */
export const START: EventPosition = { ts: 0, batch: 0, index: 0 };

/** Sorts after every event; the page that follows it has the last steps. */
export const END: EventPosition = { ts: Number.MAX_SAFE_INTEGER, ...LAST };

/** Returns the position that events from an instant on follow. */
export function positionBeforeMs(ms: number): EventPosition {
  return { ts: Math.max(0, ms - 1), ...LAST };
}

/** Returns the position before an event: a page that follows it begins with the event. */
export function positionBefore({ ts, batch, index }: EventPosition): EventPosition | null {
  if (index > 0) return { ts, batch, index: index - 1 };
  if (batch > 0) return { ts, batch: batch - 1, index: LAST.index };
  return ts > 0 ? positionBeforeMs(ts) : null;
}

/** Path of a run's page in a view. */
export function tracePath(id: string, view: Partial<TraceView> = {}): string {
  const { after = null, failed = false, inRun, ...others } = view;
  const named = { ...others, in: inRun, failed: failed ? 1 : null };
  const cursor = ["events_cursor", after && cursorText(after)] as const;
  const query = queryText([cursor, ...Object.entries(named)]);
  // A list without filters is a list too.
  return runPath(id) + (view.list === "" ? `${query === "" ? "?" : `${query}&`}list=` : query);
}

/** Path of the steps on a run's page in a view. */
export function timelinePath(id: string, view: Partial<TraceView>): string {
  return `${tracePath(id, view)}#timeline`;
}

/**
 * Path of the page that compares a run with another one, by default with the last success.
 *
 * @param isBrief true to list only the steps that differ
 */
export function comparePath(id: string, other: string | null = null, isBrief = false): string {
  return `${runPath(id)}/compare${queryText([["with", other], ["only", isBrief ? "diff" : null]])}`;
}

/** Path of the record as JSON, with the events after a position. */
export function rawPath(id: string, after: EventPosition | null = null, limit?: number): string {
  const cursor = after && cursorText(after);
  return `${runPath(id)}/raw${queryText([["events_cursor", cursor], ["events_limit", limit]])}`;
}
