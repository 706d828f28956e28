/** Loads the data of a run's page in two rounds of reads, whatever the run. */
import type { Principal } from "../../../domain/teams/credentials.ts";
import { explainCalls, type ExplainedCall } from "../../../domain/runs/explain_cost.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import { EVENTS_PER_PAGE } from "../../../domain/core/limits.ts";
import type { EventPosition, PositionedEvent, RunPage } from "../../../domain/runs/event_page.ts";
import type { RunLineage } from "../../../domain/runs/lineage.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { reportedBy } from "../../../domain/runs/run.ts";
import type { RunListRow, RunTrait } from "../../../domain/runs/list.ts";
import { traitsOf } from "../../../domain/runs/traits.ts";
import type { AppDeps } from "../../http/context.ts";
import { mayAdmin } from "../../http/access.ts";
import type { PageBounds } from "../../../domain/core/page.ts";

export interface LoadedRun {
  readonly run: RunRecord;
  /** The page of events shown, and the position that it follows. */
  readonly page: RunPage;
  readonly after: EventPosition | null;
  readonly family: RunLineage;
  /** The parent and the first children, if the team has them. */
  readonly relatives: ReadonlyMap<RunId, RunListRow>;
  /** Calls of the page by event id, and the call that a heartbeat reports itself. */
  readonly calls: ReadonlyMap<string, ExplainedCall>;
  readonly ownCall: ExplainedCall | null;
  readonly traits: readonly RunTrait[];
  /** True if the run states its own cost. */
  readonly isStated: boolean;
  /** Last events of a failed run; as far back as the search went. */
  readonly end: RunEnd;
  /** True if the run is about to change. */
  readonly isLive: boolean;
  /** True if the session has the scope `admin`. */
  readonly isAdmin: boolean;
  readonly nowMs: number;
}

/** The last events of a run. */
export interface RunEnd {
  /** The position that they follow; null if they are all events. */
  readonly after: EventPosition | null;
  readonly events: readonly PositionedEvent[];
}

/** Maximum children listed; the record lists more. */
export const CHILDREN_LISTED = 25;

/**
 * Approximate number of events to read at the end of a failed run: `first`, or `most` if none of
 * those failed.
 */
const LAST_EVENTS = { first: 40, most: 900 } as const;

/** Loads a run; null if the team has no run with that id. */
export async function loadRun(
  deps: AppDeps,
  principal: Principal,
  id: RunId,
  { after, limit }: PageBounds<EventPosition>,
): Promise<LoadedRun | null> {
  const { team } = principal;
  const [page, family] = await Promise.all([
    deps.runs.read(team, id, after, limit, LAST_EVENTS.first),
    deps.lineage.of(team, id),
  ]);
  if (page === null) return null;
  const run = assemble(id, page);
  const [relatives, end] = await Promise.all([
    readRelatives(deps, principal, run, family),
    readEnd(deps, principal, run, page, after),
  ]);
  const calls = explainCalls(page, true);
  return {
    run,
    page,
    after,
    family,
    relatives,
    calls: new Map(calls.flatMap((call) => call.eventId === null ? [] : [[call.eventId, call]])),
    ownCall: calls.find(({ eventId }) => eventId === null) ?? null,
    traits: traitsOf(page, run.cost.unpricedModels),
    isStated: page.parts.opening?.kind === "heartbeat" && reportedBy(page.parts).cost !== undefined,
    end,
    isLive: run.status === "running" || run.cost.state === "pending",
    isAdmin: mayAdmin(principal),
    nowMs: deps.environment.now(),
  };
}

async function readRelatives(
  { lineage }: AppDeps,
  { team }: Principal,
  { opening }: RunRecord,
  { children }: RunLineage,
): Promise<ReadonlyMap<RunId, RunListRow>> {
  const parents = opening?.parentRunId === undefined ? [] : [opening.parentRunId];
  const ids = new Set([...parents, ...children.slice(0, CHILDREN_LISTED)]);
  const rows = ids.size === 0 ? [] : await lineage.rows(team, [...ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Reads the last events of a failed run, which contain the reason. */
async function readEnd(
  { runs }: AppDeps,
  { team }: Principal,
  { id, status, usage }: RunRecord,
  page: RunPage,
  after: EventPosition | null,
): Promise<RunEnd> {
  if (status !== "failed" && status !== "timeout") return { after: null, events: [] };
  if (after === null && page.next === null) return { after, events: page.events };
  const read = async (position: EventPosition | null): Promise<RunEnd> => {
    const end = await runs.read(team, id, position, EVENTS_PER_PAGE.max);
    return { after: position, events: end?.events ?? [] };
  };
  const end = await read(page.nearEnd);
  const isThere = usage.errors === 0 || end.after === null || end.events.some(isFailing);
  if (isThere) return end;
  const further = await runs.read(team, id, null, 0, LAST_EVENTS.most);
  return await read(further?.nearEnd ?? null);
}

function isFailing({ type, data }: PositionedEvent): boolean {
  return storedFacts(type, data).error;
}
