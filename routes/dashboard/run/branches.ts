/** Reads the child runs of a trace, as far as they are unfolded. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { explainCalls } from "../../../domain/runs/explain_cost.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { coversCalls } from "../../../domain/runs/cost.ts";
import { EVENTS_PAGE_BYTES_MAX } from "../../../domain/core/limits.ts";
import type { AppDeps } from "../../http/context.ts";
import { CHILDREN_LISTED, ROWS_PER_PAGE, type TraceView, UNFOLDED_STEPS_MAX } from "./paths.ts";
import { readEnd, type RunEnd } from "./run_end.ts";
import { type Branch, isFailure } from "./steps.ts";

/** A child run of the trace. */
export interface ChildBranch {
  readonly row: RunListRow;
  /** Id of the run that started it. */
  readonly parent: RunId;
  readonly goal: string | null;
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
  /** True if its heartbeats say what it costs, so that its calls cost nothing. */
  readonly isCovered: boolean;
}

interface Trunk {
  readonly run: RunRecord;
  readonly children: readonly RunListRow[];
  readonly view: TraceView;
  readonly isUnfolded: boolean;
}

/** Maximum generations of child runs, child runs read, and reads in parallel. */
const GENERATIONS_MAX = 10, BRANCHES_MAX = 40, PARALLEL_MAX = 4;

/** What a page may still read of child runs. */
class Room {
  #steps: number;
  #branches = BRANCHES_MAX;
  #chars = EVENTS_PAGE_BYTES_MAX;

  constructor(steps: number) {
    this.#steps = steps;
  }

  /** True if nothing more may be read. */
  get isSpent(): boolean {
    return this.#branches <= 0 || this.#chars <= 0;
  }

  /** Takes the steps of a run if they fit. */
  fits({ usage }: RunListRow): boolean {
    if (usage.events > this.#steps) return false;
    this.#steps -= usage.events + 1;
    return true;
  }

  /** Takes what was read of a run. */
  take({ events, end }: LoadedBranch): void {
    this.#branches--;
    for (const { data } of new Set([...events, ...end.events])) this.#chars -= data.length;
  }
}

/**
 * Reads child runs, generation by generation: all while the trace has few steps, else the one that
 * the view unfolds, and the failed ones that the cause of a failure may be in. Those that do not fit
 * stay folded.
 */
export async function loadBranches(
  deps: AppDeps,
  team: Team,
  { run, children, view, isUnfolded }: Trunk,
): Promise<readonly ChildBranch[]> {
  const branches: ChildBranch[] = [];
  const visited = new Set<RunId>([run.id]);
  const room = new Room(UNFOLDED_STEPS_MAX - run.usage.events);
  let waiting = children.map((row) => ({ row, parent: run.id, isCause: isFailure(run.status) }));
  for (let generation = 1; waiting.length > 0 && generation <= GENERATIONS_MAX; generation++) {
    // Of a failed run's children, the last one that failed explains the failure.
    const cause = waiting.filter(({ row, isCause }) => isCause && isFailure(row.status))
      .reduce<RunListRow | null>(
        (last, { row }) => last && startOf(last) > startOf(row) ? last : row,
        null,
      );
    const fresh = waiting.filter(({ row }) => !visited.has(row.id) && visited.add(row.id));
    const named = new Set([cause?.id, view.open, view.inRun]);
    const wanted = [
      ...fresh.filter(({ row }) => named.has(row.id)),
      ...fresh.filter(({ row }) => !named.has(row.id) && isUnfolded && room.fits(row)),
    ];
    const loaded = await loadSome(deps, team, wanted.map(({ row }) => row), room);
    const isFolded = ({ row }: typeof fresh[number]) => !loaded.has(row.id);
    const folded = fresh.filter(isFolded).slice(0, CHILDREN_LISTED).map(({ row }) => row.id);
    const lines = await deps.lineage.lines(team, folded);
    branches.push(
      ...fresh.map(({ row, parent }) => {
        const branch = loaded.get(row.id)?.branch ?? null;
        const goal = branch?.record.opening?.goal ?? lines.get(row.id)?.name ?? null;
        return { row, parent, goal, loaded: branch };
      }),
    );
    waiting = [...loaded].flatMap(([id, { children }]) =>
      children.map((row) => ({ row, parent: id, isCause: id === cause?.id }))
    );
  }
  return branches;
}

type Loaded = NonNullable<Awaited<ReturnType<typeof loadBranch>>>;

/** Reads runs in groups, until nothing more fits. */
async function loadSome(deps: AppDeps, team: Team, rows: readonly RunListRow[], room: Room) {
  const loaded = new Map<RunId, Loaded>();
  for (let at = 0; at < rows.length && !room.isSpent; at += PARALLEL_MAX) {
    const group = rows.slice(at, at + PARALLEL_MAX);
    const read = await Promise.all(group.map((row) => loadBranch(deps, team, row)));
    for (const each of read) {
      if (each === null) continue;
      loaded.set(each.branch.run, each);
      room.take(each.branch);
    }
  }
  return loaded;
}

function startOf({ startedAt, sortedAt }: RunListRow): number {
  return startedAt ?? sortedAt;
}

async function loadBranch(deps: AppDeps, team: Team, row: RunListRow) {
  const { id } = row;
  const [page, listed] = await Promise.all([
    deps.runs.read(team, id, null, ROWS_PER_PAGE, ROWS_PER_PAGE),
    deps.lineage.children(team, id, CHILDREN_LISTED),
  ]);
  if (page === null) return null;
  const record = assemble(id, page);
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
    isCovered: coversCalls(page.parts),
    isRoot: false,
  };
  return { branch, children };
}

/** Returns the child runs that are shown with their steps: a folded one may be read for its cause. */
export function unfolded(
  { branches, run, view }: Pick<Trunk, "run" | "view"> & { branches: readonly ChildBranch[] },
): readonly LoadedBranch[] {
  const steps = branches.reduce((sum, { row }) => sum + row.usage.events + 1, run.usage.events);
  return branches.flatMap(({ row: { id }, loaded }) =>
    loaded !== null && (steps <= UNFOLDED_STEPS_MAX || view.open === id || view.inRun === id)
      ? [loaded]
      : []
  );
}
