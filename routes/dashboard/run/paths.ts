/** Paths of a run's pages and of the pages they link to. */
import type { EventPosition } from "../../../domain/runs/event_page.ts";
import { cursorText } from "../../api/runs/run_json.ts";
import { queryText, RATE_CARD_PATH, runPath } from "../layout/paths.ts";

/** Path of a run's page at the events after a position, with one of them opened. */
export function eventsPath(id: string, after: EventPosition | null, opened?: string): string {
  return `${pagePath(id, after, opened)}#${opened ?? "timeline"}`;
}

/** Path of the same page, at its top. */
export function pagePath(id: string, after: EventPosition | null, opened?: string): string {
  return runPath(id) + queryText([["events_cursor", cursorOf(after)], ["event", opened]]);
}

/** Path of the record as JSON, with the events after a position. */
export function rawPath(id: string, after: EventPosition | null = null, limit?: number): string {
  const query = queryText([["events_cursor", cursorOf(after)], ["events_limit", limit]]);
  return `${runPath(id)}/raw${query}`;
}

/** Path of the form that adds a price for a model. */
export function pricePath(model: string, provider: string | null): string {
  return `${RATE_CARD_PATH}/new${queryText([["model", model], ["provider", provider]])}`;
}

function cursorOf(after: EventPosition | null): string | null {
  return after === null ? null : cursorText(after);
}
