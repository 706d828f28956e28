/** Finds the steps of a long run that match the filters of its page. */
import type { Team } from "../../../domain/teams/team.ts";
import type { EventPosition, PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import type { AppDeps } from "../../http/context.ts";
import type { TraceView } from "./paths.ts";
import type { Step } from "./steps.ts";
import { storedFacts } from "../../../domain/runs/event.ts";

/** Matches of a page, events read at a time, and reads of a request. */
const MATCHES_MAX = 100, EVENTS_PER_READ = 500, READS_MAX = 4;

/** Events that match, and the position where the search goes on; null at the end. */
export interface Matches {
  readonly events: readonly PositionedEvent[];
  readonly next: EventPosition | null;
}

/** Searches from the position of the view; a search that reads too much goes on with a link. */
export async function findMatches(
  { runs }: AppDeps,
  team: Team,
  { id }: RunRecord,
  view: TraceView,
): Promise<Matches> {
  const events: PositionedEvent[] = [];
  let next = view.after;
  for (let reads = 0; reads < READS_MAX; reads++) {
    const page = await runs.read(team, id, next, EVENTS_PER_READ);
    if (page === null) return { events, next: null };
    for (const event of page.events) {
      if (!matchesEvent(event, view)) continue;
      events.push(event);
      if (events.length === MATCHES_MAX) return { events, next: event.position };
    }
    next = page.next;
    if (next === null) break;
  }
  return { events, next };
}

const TYPES = { model: "llm_call", tool: "tool_call", log: "log" } as const;

function matchesEvent({ type, data }: PositionedEvent, { kind, failed, text }: TraceView): boolean {
  if (kind !== null && type !== TYPES[kind]) return false;
  if (text !== "" && !`${type} ${data}`.toLowerCase().includes(text.toLowerCase())) return false;
  return !failed || storedFacts(type, data).error;
}

/** Returns whether a step matches the filters. */
export function matchesStep(step: Step, view: TraceView): boolean {
  const { preview, name } = step;
  if (preview !== null) return matchesEvent(preview.event, view);
  return view.kind === null && (!view.failed || step.failure !== null) &&
    name.toLowerCase().includes(view.text.toLowerCase());
}
