/** Paths of the pages of a run, and of those it links to. */
import type { EventPosition } from "../../../domain/runs/event_page.ts";
import { cursorText } from "../../api/runs/run_json.ts";
import { queryText, RATE_CARD_PATH, runPath, RUNS_PATH } from "../layout/paths.ts";

/** The page of a run with the events after a position, one of them opened. */
export function eventsPath(id: string, after: EventPosition | null, opened?: string): string {
  return `${pagePath(id, after, opened)}#${opened ?? "timeline"}`;
}

/** The same from its top. */
export function pagePath(id: string, after: EventPosition | null, opened?: string): string {
  return runPath(id) + queryText([["events_cursor", cursorOf(after)], ["event", opened]]);
}

/** The record as JSON, with its events after a position. */
export function rawPath(id: string, after: EventPosition | null = null, limit?: number): string {
  const query = queryText([["events_cursor", cursorOf(after)], ["events_limit", limit]]);
  return `${runPath(id)}/raw${query}`;
}

/** The runs with a label in common. */
export function runsPath(name: "agent" | "customer_id" | "feature", value: string): string {
  return `${RUNS_PATH}${queryText([[name, value]])}`;
}

/** The form that adds a price for a model. */
export function pricePath(model: string, provider: string | null): string {
  return `${RATE_CARD_PATH}/new${queryText([["model", model], ["provider", provider]])}`;
}

function cursorOf(after: EventPosition | null): string | null {
  return after === null ? null : cursorText(after);
}
