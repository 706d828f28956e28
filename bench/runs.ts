/**
 * Measures pages of the list of runs by filter: milliseconds, CPU milliseconds, which do not depend
 * on other load of the machine, and index rows read. It reads the first page and pages anywhere in
 * the month, alternating between filters.
 */
import { Memory } from "../domain/core/memory.ts";
import process from "node:process";
import type { RunId, TeamId } from "../domain/core/ids.ts";
import type { RunsQuery } from "../domain/runs/list.ts";
import { Budget } from "../kv/run_list/budget.ts";
import { PAGE_ROWS_MAX, readRunListPage } from "../kv/run_list/run_list.ts";
import { openStore } from "../kv/open.ts";
import { type Store } from "../kv/store.ts";
import { fillOnce, SPREAD_MS } from "./fill_runs.ts";
import { type Bar, print } from "./report.ts";
import { mean, quantile } from "./stats.ts";
import { number, table } from "../tools/table.ts";
import { firstTeamOf } from "./service.ts";
import type { BenchOptions } from "./options.ts";

const LIMIT = 50;
/** Unmeasured pages of each filter: the first ones include compilation. */
const WARM_UP_PAGES = 5;
const P99_MS_MAX = 20;
const DAY_MS = 86_400_000;
const nowMs = Date.now();

const ALL = { from: null, to: null };
const DAY = { from: nowMs - DAY_MS, to: null };

const QUERIES: Readonly<Record<string, RunsQuery>> = {
  "none": ALL,
  "agent, 1 in 2": { ...ALL, agent: "busy" },
  "agent, 1 in 10,000": { ...ALL, agent: "rare" },
  "agent, none": { ...ALL, agent: "nobody" },
  "customer, 1 in 1,000": { ...ALL, customer: "customer-7" },
  "feature, 1 in 7": { ...ALL, feature: "feature-3" },
  "feature, 1 in 10,000": { ...ALL, feature: "new" },
  "status success": { ...ALL, status: "success" },
  "status failed, 1 in 20": { ...ALL, status: "failed" },
  "status running, 1 in 1,000": { ...ALL, status: "running" },
  "kind heartbeat, 1 in 4": { ...ALL, kind: "heartbeat" },
  "model, 1 in 5": { ...ALL, model: "model-2" },
  "model and provider, 1 in 100,000": { ...ALL, model: "model-rare", provider: "a" },
  "has unpriced, 1 in 1,000": { ...ALL, has: "unpriced" },
  "has late, 1 in 1,000": { ...ALL, has: "late" },
  "has orphan, 1 in 10,000": { ...ALL, has: "orphan" },
  "has failed_check, none": { ...ALL, has: "failed_check" },
  "cost from $ 0.001": { ...ALL, minCost: 10n ** 9n },
  "cost from $ 9, 1 in 100": { ...ALL, minCost: 9n * 10n ** 12n },
  "cost from $ 5,000, none": { ...ALL, minCost: 5n * 10n ** 15n },
  "agent and status, 1 in 40": { ...ALL, agent: "busy", status: "failed" },
  "agent and feature, 1 in 140": { ...ALL, agent: "agent-3", feature: "feature-3" },
  "customer and status, 1 in 20,000": { ...ALL, customer: "customer-7", status: "failed" },
  "unpriced and late, 1 in 1,000,000": { ...ALL, has: "late", agent: "rare" },
  "five filters": {
    ...ALL,
    agent: "busy",
    kind: "run",
    status: "success",
    feature: "feature-3",
    model: "model-2",
  },
  "two that exclude each other": {
    ...ALL,
    customer: "customer-7",
    feature: "feature-1",
    model: "model-0",
  },
  "the same, both common": {
    ...ALL,
    feature: "feature-1",
    model: "model-1",
    status: "success",
    kind: "heartbeat",
  },
  "part of an id, 1 in 100, a day": { ...DAY, q: "7f3" },
  "part of an id, none, a day": { ...DAY, q: "zz" },
  "part of an id, none, a month": { ...ALL, q: "zz" },
};

interface FilterMeasured {
  readonly ms: number[];
  readonly cpuMs: number[];
  readonly read: number[];
  readonly listed: number[];
}

const HEAD = [
  "filter",
  "p50 ms",
  "p99 ms",
  "CPU ms",
  "CPU p99",
  "rows read",
  "at most",
  "runs a page",
];

/** Measures pages of all filters. */
export async function bench(
  { folder, runs = 1_000_000, rounds = 100, file = `${folder}/runs.kv` }: BenchOptions,
): Promise<Bar[]> {
  await fillOnce(file, runs);
  const store = await openStore(file, new Memory());
  const team = await firstTeamOf(store);
  const measuredFilters = new Map<string, FilterMeasured>();
  for (let page = -WARM_UP_PAGES; page < rounds; page++) {
    for (const [name, query] of Object.entries(QUERIES)) {
      const measured = await readPage(store, team, query, Math.max(0, page) / rounds);
      if (page < 0) continue;
      const all = measuredFilters.get(name) ?? { ms: [], cpuMs: [], read: [], listed: [] };
      measuredFilters.set(name, all);
      for (const key of ["ms", "cpuMs", "read", "listed"] as const) all[key].push(measured[key]);
    }
  }
  await store.close();
  const rows = [...measuredFilters].map(([name, { ms, cpuMs, read, listed }]) => [
    name,
    number(quantile(ms, 0.5), 1),
    number(quantile(ms, 0.99), 1),
    number(mean(cpuMs), 1),
    number(quantile(cpuMs, 0.99), 1),
    number(mean(read)),
    number(Math.max(...read)),
    number(mean(listed), 1),
  ]);
  print(`Pages of ${LIMIT} from ${number(runs)} runs; ${rounds} pages of each filter.\n`);
  print(table(HEAD, rows));
  const slowest = Math.max(...[...measuredFilters.values()].map(({ ms }) => quantile(ms, 0.99)));
  return [{
    name: "p99 of a page of the list of runs, whatever the filter",
    bar: `< ${P99_MS_MAX} ms`,
    measured: `${number(slowest, 1)} ms`,
    met: slowest < P99_MS_MAX,
  }];
}

/** Reads the page that starts `back` of the filter's range before its end. */
async function readPage(store: Store, team: TeamId, query: RunsQuery, back: number) {
  const rangeMs = query.from === null ? SPREAD_MS : DAY_MS;
  const at = nowMs - Math.floor(back * rangeMs);
  const after = back === 0 ? null : { at, run: "" as RunId };
  const budget = new Budget(PAGE_ROWS_MAX + 4 * LIMIT);
  const [sinceMs, sinceCpu] = [performance.now(), process.cpuUsage()];
  const { rows } = await readRunListPage(store, team, query, after, LIMIT, budget);
  const ms = performance.now() - sinceMs;
  const { user, system } = process.cpuUsage(sinceCpu);
  return { ms, cpuMs: (user + system) / 1000, read: budget.rows, listed: rows.length };
}
