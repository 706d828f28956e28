/** The last events of a failed run, which contain the reason. */
import type { Team } from "../../../domain/teams/team.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import type { EventPosition, PositionedEvent, RunPage } from "../../../domain/runs/event_page.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import type { AppDeps } from "../../http/context.ts";
import { ROWS_PER_PAGE } from "./paths.ts";
import { isFailure } from "./steps.ts";

/**
 * Approximate number of events to read at the end of a failed run: `first`, or `most` if none of
 * the `first` ones failed.
 */
export const LAST_EVENTS = { first: 90, most: 900 } as const;

/** Events at the end of a run, and the position that they follow; null if they are all events. */
export interface RunEnd {
  readonly after: EventPosition | null;
  readonly events: readonly PositionedEvent[];
}

/** Reads the last events of a failed run, which contain the reason. */
export async function readEnd(
  { runs }: Pick<AppDeps, "runs">,
  team: Team,
  { id, status, usage }: Pick<RunRecord, "id" | "status" | "usage">,
  page: RunPage,
  after: EventPosition | null,
): Promise<RunEnd> {
  if (!isFailure(status)) return { after: null, events: [] };
  if (after === null && page.next === null) return { after, events: page.events };
  const read = async (position: EventPosition | null) => {
    const end = await runs.read(team, id, position, LAST_EVENTS.most + ROWS_PER_PAGE);
    return { after: position, events: end?.events ?? [] };
  };
  const end = await read(page.nearEnd);
  if (usage.errors === 0 || end.after === null || end.events.some(isFailing)) return end;
  const further = await runs.read(team, id, null, 0, LAST_EVENTS.most);
  return await read(further?.nearEnd ?? null);
}

/** Returns whether an event reports a failure. */
export function isFailing({ type, data }: PositionedEvent): boolean {
  return storedFacts(type, data).error;
}
