/** Paths of a run's pages and of the pages they link to. */
import type { EventPosition } from "../../../domain/runs/event_page.ts";
import { cursorText } from "../../api/runs/run_json.ts";
import { queryText, RATE_CARD_PATH, runPath } from "../layout/paths.ts";

/** Kinds of steps that the waterfall can be filtered by. */
export const STEP_KINDS = ["model", "tool", "log"] as const;

/** One of {@link STEP_KINDS}. */
export type FilterKind = typeof STEP_KINDS[number];

/** State of a run's page, as its URL has it. */
export interface TraceView {
  /** Position that the page of events follows; null for the first page. */
  readonly after: EventPosition | null;
  /** Number of rows before the first one shown. */
  readonly skip: number;
  /** Id of the selected event; null for the default. */
  readonly event: string | null;
  /** Id of the child run that has the selected event; null for the run of the page. */
  readonly inRun: string | null;
  /** Id of the child run that is unfolded; null for the default. */
  readonly open: string | null;
  readonly kind: FilterKind | null;
  readonly failed: boolean;
  /** Text to find; empty for none. */
  readonly text: string;
  /** Query of the list that led to the page; null for none. */
  readonly list: string | null;
}

/** The view without a selection, filter or list. */
export const PLAIN_VIEW: TraceView = {
  after: null,
  skip: 0,
  event: null,
  inRun: null,
  open: null,
  kind: null,
  failed: false,
  text: "",
  list: null,
};

/** Rows of the waterfall that a page sends. */
export const ROWS_PER_PAGE = 100;

/** Maximum steps of a trace that is read as one, with its child runs unfolded. */
export const UNFOLDED_STEPS_MAX = 200;

/** Maximum children listed; the record lists more. */
export const CHILDREN_LISTED = 25;

/** Returns whether a view has a filter. */
export function isFiltered({ kind, failed, text }: TraceView): boolean {
  return kind !== null || failed || text !== "";
}

/** Returns the position before an event: a page that follows it begins with the event. */
export function positionBefore({ ts, batch, index }: EventPosition): EventPosition | null {
  if (index > 0) return { ts, batch, index: index - 1 };
  if (batch > 0) return { ts, batch: batch - 1, index: LAST.index };
  return ts > 0 ? { ts: ts - 1, ...LAST } : null;
}

/** Sort after every batch, and after every event of a batch. */
const LAST = { batch: 999_999_999, index: 99 } as const;

/** Path of a run's page in a view. */
export function tracePath(id: string, view: Partial<TraceView> = {}): string {
  const { after, skip, event, inRun, open, kind, failed, text, list } = {
    ...PLAIN_VIEW,
    ...view,
  };
  return runPath(id) + queryText([
    ["events_cursor", after === null ? null : cursorText(after)],
    ["skip", skip === 0 ? null : skip],
    ["open", open],
    ["kind", kind],
    ["failed", failed ? 1 : null],
    ["text", text],
    ["event", event],
    ["in", inRun],
    ["list", list],
  ]);
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
  const cursor = after === null ? null : cursorText(after);
  return `${runPath(id)}/raw${queryText([["events_cursor", cursor], ["events_limit", limit]])}`;
}

/** Path of the form that adds a price for a model. */
export function pricePath(model: string, provider: string | null): string {
  return `${RATE_CARD_PATH}/new${queryText([["model", model], ["provider", provider]])}`;
}
