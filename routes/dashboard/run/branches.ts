/** Reads the child runs of a trace, as far as they are unfolded. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { explainCalls } from "../../../domain/runs/explain_cost.ts";
import type { RunPage } from "../../../domain/runs/event_page.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import type { AppDeps } from "../../http/context.ts";
import { CHILDREN_LISTED, ROWS_PER_PAGE, type TraceView, UNFOLDED_STEPS_MAX } from "./paths.ts";
import { readEnd, type RunEnd } from "./run_end.ts";
import { type RunStandouts, standoutsIn } from "./standouts.ts";
import { type Branch, isFailure } from "./steps.ts";

/** A child run of the trace. */
export interface ChildBranch {
  readonly row: RunListRow;
  /** Id of the run that started it. */
  readonly parent: RunId;
  /** Its record and events; null while it is folded. */
  readonly loaded: LoadedBranch | null;
}

/** A child run that is unfolded. */
export interface LoadedBranch extends Branch {
  readonly record: RunRecord;
  /** Number of its events that were not read. */
  readonly unread: number;
  /** Its last events, if it failed. */
  readonly end: RunEnd;
  readonly standouts: RunStandouts;
  readonly minimap: RunPage["totals"]["minimap"];
}

interface Trunk {
  readonly run: RunRecord;
  readonly page: RunPage;
  readonly children: readonly RunListRow[];
  readonly view: TraceView;
  readonly isUnfolded: boolean;
  readonly end: RunEnd;
}

/**
 * Reads child runs, generation by generation: all while the trace has few steps, else the one that
 * the view unfolds, and the failed ones that the cause of a failure may be in.
 */
export async function loadBranches(
  deps: AppDeps,
  team: Team,
  { run, children, view, isUnfolded }: Trunk,
): Promise<readonly ChildBranch[]> {
  const branches: ChildBranch[] = [];
  const visited = new Set<RunId>([run.id]);
  let left = UNFOLDED_STEPS_MAX - run.usage.events;
  let waiting = children.map((row) => ({ row, parent: run.id, isCause: isFailure(run.status) }));
  while (waiting.length > 0) {
    // Of a failed run's children, the last one that failed explains the failure.
    const cause = waiting.filter(({ row, isCause }) => isCause && isFailure(row.status))
      .reduce<RunListRow | null>(
        (last, { row }) => last && startOf(last) > startOf(row) ? last : row,
        null,
      );
    const fresh = waiting.filter(({ row }) => !visited.has(row.id) && visited.add(row.id));
    const loaded = await Promise.all(fresh.map(({ row }) => {
      const fits = isUnfolded && row.usage.events <= left;
      if (fits) left -= row.usage.events + 1;
      return fits || row.id === view.open || row.id === view.inRun || row === cause
        ? loadBranch(deps, team, row)
        : null;
    }));
    branches.push(...fresh.map(({ row, parent }, i) => ({
      row,
      parent,
      loaded: loaded[i]?.branch ?? null,
    })));
    waiting = loaded.flatMap((each) =>
      each === null ? [] : each.children.map((row) => ({
        row,
        parent: each.branch.run,
        isCause: each.branch.record.id === cause?.id,
      }))
    );
  }
  return branches;
}

function startOf({ startedAt, sortedAt }: RunListRow): number {
  return startedAt ?? sortedAt;
}

async function loadBranch(deps: AppDeps, team: Team, row: RunListRow) {
  const { id } = row;
  const [page, family] = await Promise.all([
    deps.runs.read(team, id, null, ROWS_PER_PAGE, ROWS_PER_PAGE),
    deps.lineage.of(team, id),
  ]);
  if (page === null) return null;
  const record = assemble(id, page);
  const listed = family.children.slice(0, CHILDREN_LISTED);
  const [children, end] = await Promise.all([
    listed.length === 0 ? [] : deps.lineage.rows(team, listed),
    readEnd(deps, team, record, page, null),
  ]);
  // A failed child shows its end, which has the reason.
  const isCut = page.next !== null;
  const events = isCut && end.events.length > 0 ? end.events.slice(-ROWS_PER_PAGE) : page.events;
  const calls = explainCalls({ ...page, events }, true);
  const branch: LoadedBranch = {
    run: id,
    record,
    events,
    calls: new Map(calls.map((call) => [call.eventId as string | null, call])),
    unread: isCut ? Math.max(0, record.usage.events - events.length) : 0,
    end,
    standouts: standoutsIn(id, page),
    minimap: page.totals.minimap,
    isRoot: false,
  };
  return { branch, children };
}
