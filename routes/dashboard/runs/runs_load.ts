/** Reads the data of the run list; each part is bounded. */
import type { RunId } from "../../../domain/core/ids.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import { JUDGES } from "../../../domain/judges/judge_body.ts";
import { causesOf, type RunListRow, usualOf } from "../../../domain/runs/list.ts";
import type { RunsRequest } from "../../../domain/runs/list_query.ts";
import { commandTarget } from "../components/first_command.tsx";
import { countRejected } from "../refusals/page.tsx";
import { isFailure } from "../run/texts.ts";
import type { ListQuery } from "./query.ts";
import type { Reader, Visit } from "../layout/page.tsx";

const NO_JUDGES = { objects: [], next: null };

/** The data of the list. */
export type RunsData = Awaited<ReturnType<typeof loadRuns>>;

export async function loadRuns(visit: Visit, query: ListQuery, request: RunsRequest) {
  const { deps, team } = visit;
  const { runList, lineage, environment } = deps;
  const nowMs = environment.now();
  // Read the number first: the next request then reports changes made in between.
  const change = query.isLive ? await deps.changes.last(team.id) : 0;
  const [page, rejected, target, counts, judges] = await Promise.all([
    runList.page(team, request.query, request.after, request.limit),
    countRejected(visit, nowMs),
    commandTarget(visit),
    // A page that reloads itself keeps its menus.
    query.has("seen") ? null : readCounts(visit, request, nowMs),
    query.has("seen")
      ? NO_JUDGES
      : deps.objects(JUDGES).list(team, { limit: JUDGES.cap, after: null }),
  ]);
  const [families, usual] = await Promise.all([
    lineage.families(team, page.rows.map(({ id }) => id)),
    readUsual(visit, page.rows),
  ]);
  const shown = query.getAll("open").flatMap((id) => families.get(id as RunId)?.children ?? []);
  const causes = page.rows.filter(({ status }) => isFailure(status))
    .flatMap(({ id }) => causesOf(id, families.get(id)?.failures ?? []));
  const named = new Set([...page.rows, ...shown, ...causes].map(({ id }) => id));
  const lines = await lineage.lines(team, [...named]);
  const read = { page, rejected, target, counts, judges: judges.objects, families, usual, lines };
  return { query, request, ...read, nowMs, change };
}

/** Maximum agents of a page whose usual figures are read, and runs of each. */
const USUAL = { agentsMax: 20, runs: 50 } as const;

/** Reads the usual figures of the agents of some runs. */
export async function readUsual({ deps, team }: Reader, rows: readonly RunListRow[]) {
  const agents = [...new Set(rows.flatMap(({ agent }) => agent ?? []))].slice(0, USUAL.agentsMax);
  const usual = await Promise.all(agents.map(async (agent) => {
    const latest = await deps.runList.page(team, { agent, from: null, to: null }, null, USUAL.runs);
    return [agent, usualOf(latest.rows)] as const;
  }));
  return new Map(usual);
}

/** Time before the last day that counts cover: a week, or the time of the list, a month at most. */
const COUNTED_MS = { usual: 6 * DAY_MS, max: 30 * DAY_MS } as const;

/** Maximum open runs that are counted. */
export const RUNNING_MAX = 1_000;

/** Labels whose values are counted. */
const COUNTED = ["status", "agent", "customer", "feature", "model"] as const;

/** Counts the runs of the days of a list by the values of its filters. */
async function readCounts(reader: Reader, { query: { from, to } }: RunsRequest, nowMs: number) {
  const { deps: { spend, runList }, team } = reader;
  const last = to === null ? nowMs : to - 1;
  const first = Math.max(from ?? last - COUNTED_MS.usual, last - COUNTED_MS.max);
  const days = { from: dayOf(first), to: dayOf(Math.max(first, last)) };
  const [totals, open, ...values] = await Promise.all([
    Array.fromAsync(spend.rows(team, "total", days.from, days.to)),
    runList.starts(team, "running", from ?? 0, to ?? nowMs + DAY_MS, RUNNING_MAX),
    ...COUNTED.map(async (label) => {
      const filter = label === "customer" ? "customer_id" : label;
      return [filter, await countValues(reader, label, days)] as const;
    }),
  ]);
  const measures = totals.flat().map((row) => row.measures);
  const byFilter = new Map<string, ReadonlyMap<string, number>>(values);
  // Runs may be open for longer than the counted days.
  if (open !== null) {
    byFilter.set("status", new Map(byFilter.get("status")).set("running", open.length));
  }
  return {
    days,
    runs: measures.reduce((sum, { runs }) => sum + runs, 0),
    cost: measures.reduce((sum, { cost }) => sum + cost, 0n),
    values: byFilter,
  };
}

/** Maximum rows, of one day and value each, that values are counted from. */
const COUNTED_ROWS_MAX = 500;

/** Counts the runs of each value of a label, the most frequent first. */
export async function countValues(
  { deps, team }: Reader,
  label: typeof COUNTED[number],
  days: { readonly from: string; readonly to: string },
) {
  const rows = await firstRows(deps.spend.rows(team, label, days.from, days.to), COUNTED_ROWS_MAX);
  return sumByName(rows.flatMap(({ group, measures: { runs } }) => {
    const value = "value" in group ? group.value : null;
    const name = typeof value === "string" ? value : value?.model;
    return name !== undefined && runs > 0 ? [[name, runs] as const] : [];
  }));
}

/** Reads the first rows of pages of rows. */
export async function firstRows<Row>(pages: AsyncIterable<readonly Row[]>, max: number) {
  const all: Row[] = [];
  for await (const rows of pages) {
    all.push(...rows);
    if (all.length >= max) break;
  }
  return all.slice(0, max);
}

/** Adds up the numbers of each name, the highest sum first. */
export function sumByName(numbers: Iterable<readonly [name: string, number: number]>) {
  const sums = new Map<string, number>();
  for (const [name, number] of numbers) sums.set(name, (sums.get(name) ?? 0) + number);
  return new Map([...sums].sort(([, a], [, b]) => b - a));
}
