/** Loads the data of a run's page in two rounds of reads, whatever the run. */
import type { Principal } from "../../../domain/teams/credentials.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { explainCalls } from "../../../domain/runs/explain_cost.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import { EVENTS_PER_PAGE } from "../../../domain/core/limits.ts";
import type { EventPosition, PositionedEvent, RunPage } from "../../../domain/runs/event_page.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { isStated } from "../../../domain/runs/run.ts";
import { traitsOf } from "../../../domain/runs/traits.ts";
import type { AppDeps } from "../../http/context.ts";
import { mayAdmin } from "../../http/access.ts";
import type { PageBounds } from "../../../domain/core/query.ts";

/** The data of a run's page. */
export type LoadedRun = NonNullable<Awaited<ReturnType<typeof loadRun>>>;

/** Maximum children listed; the record lists more. */
export const CHILDREN_LISTED = 25;

/**
 * Approximate number of events to read at the end of a failed run: `first`, or `most` if none of
 * the `first` ones failed.
 */
const LAST_EVENTS = { first: 40, most: 900 } as const;

/** Loads a run; null if the team has no run with that id. */
export async function loadRun(
  deps: AppDeps,
  principal: Principal,
  id: RunId,
  { after, limit }: PageBounds<EventPosition>,
) {
  const { team } = principal;
  const [page, family] = await Promise.all([
    deps.runs.read(team, id, after, limit, LAST_EVENTS.first),
    deps.lineage.of(team, id),
  ]);
  if (page === null) return null;
  const run = assemble(id, page);
  const parents = run.opening?.parentRunId === undefined ? [] : [run.opening.parentRunId];
  const relativeIds = new Set([...parents, ...family.children.slice(0, CHILDREN_LISTED)]);
  const [relatives, end] = await Promise.all([
    relativeIds.size === 0 ? [] : deps.lineage.rows(team, [...relativeIds]),
    readEnd(deps, team, run, page, after),
  ]);
  const calls = explainCalls(page, true);
  return {
    run,
    /** The page of events shown, and the position that it follows. */
    page,
    after,
    family,
    /** The parent and the first children, if the team has them. */
    relatives: new Map(relatives.map((row) => [row.id, row])),
    /** Calls of the page by event id, and the call that a heartbeat reports itself. */
    calls: new Map(calls.map((call) => [call.eventId, call])),
    ownCall: calls.find(({ eventId }) => eventId === null) ?? null,
    traits: traitsOf(page, run.cost.unpricedModels),
    /** True if the run states its own cost. */
    isStated: isStated(page.parts),
    end,
    /** True if the run is about to change. */
    isLive: run.status === "running" || run.cost.state === "pending",
    isAdmin: mayAdmin(principal),
    nowMs: deps.environment.now(),
  };
}

/**
 * Reads the last events of a failed run, which contain the reason, and the position that they
 * follow; null if they are all events.
 */
async function readEnd(
  { runs }: AppDeps,
  team: Team,
  { id, status, usage }: RunRecord,
  page: RunPage,
  after: EventPosition | null,
) {
  if (status !== "failed" && status !== "timeout") return { after: null, events: [] };
  if (after === null && page.next === null) return { after, events: page.events };
  const read = async (position: EventPosition | null) => {
    const end = await runs.read(team, id, position, EVENTS_PER_PAGE.max);
    return { after: position, events: end?.events ?? [] };
  };
  const end = await read(page.nearEnd);
  const isFailing = ({ type, data }: PositionedEvent) => storedFacts(type, data).error;
  if (usage.errors === 0 || end.after === null || end.events.some(isFailing)) return end;
  const further = await runs.read(team, id, null, 0, LAST_EVENTS.most);
  return await read(further?.nearEnd ?? null);
}
