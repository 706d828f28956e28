/** Reads the data of the run list; each part is bounded. */
import type { RunId } from "../../../domain/core/ids.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import { type RunListRow, usualOf, type UsualRun } from "../../../domain/runs/list.ts";
import type { RunsRequest } from "../../../domain/runs/list_query.ts";
import type { RollupRow } from "../../../domain/spend/rollup.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { commandTarget } from "../components/first_command.tsx";
import { countRejected } from "../refusals/page.tsx";
import { isFailure } from "../run/steps.ts";
import { isLiveList, type ListQuery } from "./query.ts";
import { newOf, type TailCursor } from "./tail.ts";

/** The data of the list. */
export type RunsData = Awaited<ReturnType<typeof loadRuns>>;

export async function loadRuns(
  deps: AppDeps,
  c: RequestContext,
  query: ListQuery,
  request: RunsRequest,
  seen: TailCursor | null,
) {
  const { team } = c.get("principal");
  const { runList, lineage, environment } = deps;
  const nowMs = environment.now();
  // Read the number first: the next request then reports changes made in between.
  const change = isLiveList(query) ? await deps.changes.last(team.id) : 0;
  const [page, rejected, target, counts] = await Promise.all([
    runList.page(team, request.query, request.after, request.limit),
    countRejected(deps, team.id, nowMs),
    commandTarget(deps, c),
    // A page that reloads itself keeps its menus.
    seen === null ? readCounts(deps, team, countedDays(request, nowMs)) : null,
  ]);
  const ids = page.rows.map(({ id }) => id);
  const [families, usual] = await Promise.all([
    lineage.families(team, ids),
    readUsual(deps, team, page.rows),
  ]);
  const shown = query.getAll("open").flatMap((id) => families.get(id as RunId)?.children ?? []);
  // The cause of a failure is in the child run that failed.
  const causes = page.rows.filter(({ status }) => isFailure(status)).flatMap(({ id }) =>
    families.get(id)?.children.find(({ status }) => isFailure(status)) ?? []
  );
  const named = new Set([...ids, ...[...shown, ...causes].map(({ id }) => id)]);
  return {
    ...{ query, request, page, rejected, target, counts, families, usual, nowMs, change },
    lines: await lineage.lines(team, [...named]),
    /** Runs that the browser has not shown yet. */
    fresh: newOf(page.rows, seen),
  };
}

/** Maximum agents of a page whose usual figures are read, and runs of each. */
const USUAL = { agentsMax: 20, runs: 50 } as const;

/** Reads the usual figures of the agents of some runs. */
export async function readUsual(
  { runList }: Pick<AppDeps, "runList">,
  team: Team,
  rows: readonly RunListRow[],
): Promise<ReadonlyMap<string, UsualRun | null>> {
  const agents = [...new Set(rows.flatMap(({ agent }) => agent ?? []))].slice(0, USUAL.agentsMax);
  return new Map(
    await Promise.all(agents.map(async (agent) => {
      const latest = await runList.page(team, { agent, from: null, to: null }, null, USUAL.runs);
      return [agent, usualOf(latest.rows)] as const;
    })),
  );
}

/** Days that counts cover: those of the list, a month at most, or the last week. */
const COUNTED_DAYS = { usual: 7, max: 31 } as const;

/** UTC days that counts cover. */
type CountedDays = ReturnType<typeof countedDays>;

function countedDays({ query: { from, to } }: RunsRequest, nowMs: number) {
  const last = to === null ? nowMs : to - 1;
  const first = Math.max(
    from ?? last - (COUNTED_DAYS.usual - 1) * DAY_MS,
    last - (COUNTED_DAYS.max - 1) * DAY_MS,
  );
  return { from: dayOf(first), to: dayOf(Math.max(first, last)) };
}

/** Labels whose values are counted, and the filters that they are values of. */
const COUNTED = {
  status: "status",
  agent: "agent",
  customer: "customer_id",
  feature: "feature",
  model: "model",
} as const;

type CountedLabel = keyof typeof COUNTED;

/** Counts of runs. */
export interface Counts {
  readonly days: CountedDays;
  /** Runs by value, the most frequent first, by the name of the filter. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Cost of all runs of the days. */
  readonly cost: bigint;
}

async function readCounts({ spend }: AppDeps, team: Team, days: CountedDays): Promise<Counts> {
  let cost = 0n;
  const labels = Object.entries(COUNTED) as [CountedLabel, string][];
  const values = await Promise.all(labels.map(async ([label, filter]) => {
    const count = (row: RollupRow) => {
      if (label === "status") cost += row.measures.cost;
    };
    return [filter, await countValues(spend, team, label, days, count)] as const;
  }));
  return { days, values: new Map(values), cost };
}

/** Maximum rows, of one day and value each, that values are counted from. */
const COUNTED_ROWS_MAX = 500;

/** Counts the runs of each value of a label, the most frequent first. */
export async function countValues(
  spend: AppDeps["spend"],
  team: Team,
  label: CountedLabel,
  { from, to }: CountedDays,
  visit: (row: RollupRow) => void = () => {},
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let left = COUNTED_ROWS_MAX;
  for await (const rows of spend.rows(team, label, from, to)) {
    for (const row of rows.slice(0, left)) {
      visit(row);
      const name = valueOf(row);
      if (name !== null && row.measures.runs > 0) {
        counts.set(name, (counts.get(name) ?? 0) + row.measures.runs);
      }
    }
    left -= rows.length;
    if (left <= 0) break;
  }
  return new Map([...counts].sort((a, b) => b[1] - a[1]));
}

function valueOf({ group }: RollupRow): string | null {
  if (!("value" in group)) return null;
  return typeof group.value === "string" ? group.value : group.value?.model ?? null;
}
