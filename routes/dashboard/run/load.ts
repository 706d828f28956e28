/** Everything that the page of a run shows, read in two rounds whatever the run is. */
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
import type { EventsPage } from "../../api/runs/runs.ts";

/** The content of the page of a run. */
export interface LoadedRun {
  readonly run: RunRecord;
  /** The page of its events that is shown, and the place they come behind. */
  readonly page: RunPage;
  readonly after: EventPosition | null;
  readonly family: RunLineage;
  /** Its parent and the first of its children, as far as the team has them. */
  readonly relatives: ReadonlyMap<RunId, RunListRow>;
  /** The calls of the page by event, and what a heartbeat reports of itself. */
  readonly calls: ReadonlyMap<string, ExplainedCall>;
  readonly ownCall: ExplainedCall | null;
  /** What is special of it. */
  readonly traits: readonly RunTrait[];
  /** Whether it states its cost itself. */
  readonly isStated: boolean;
  /** Its last events, when it went wrong; as far back as was looked. */
  readonly end: RunEnd;
  /** Whether something of it is about to change. */
  readonly isLive: boolean;
  /** Whether the session has the scope `admin`. */
  readonly isAdmin: boolean;
  readonly nowMs: number;
}

/** The last events of a run. */
export interface RunEnd {
  /** The place they come behind; null where they are all there are. */
  readonly after: EventPosition | null;
  readonly events: readonly PositionedEvent[];
}

/** Children that are shown; the record lists more. */
export const CHILDREN_LISTED = 25;

/**
 * Events that the way to the last ones leads to, more or less: so many are read of the end of a run that
 * went wrong, and more when none of those failed.
 */
const LAST_EVENTS = { first: 40, most: 900 } as const;

/** Reads a run; null when the team has none of that id. */
export async function loadRun(
  deps: AppDeps,
  principal: Principal,
  id: RunId,
  { after, limit }: EventsPage,
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

/** The last events of a run that went wrong: they are where the reason is. */
async function readEnd(
  { runs }: AppDeps,
  { team }: Principal,
  { id, status, usage }: RunRecord,
  page: RunPage,
  after: EventPosition | null,
): Promise<RunEnd> {
  if (status !== "failed" && status !== "timeout") return { after: null, events: [] };
  if (after === null && page.next === null) return { after, events: page.events };
  const read = async (place: EventPosition | null): Promise<RunEnd> => {
    const end = await runs.read(team, id, place, EVENTS_PER_PAGE.max);
    return { after: place, events: end?.events ?? [] };
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
