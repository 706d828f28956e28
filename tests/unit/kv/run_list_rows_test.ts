/** Rows of run lists, and how much of the index is read to find them. */
import { assert, assertEquals } from "@std/assert";
import type { RunPosition, RunsQuery } from "../../../domain/runs/list.ts";
import {
  createRunListStore,
  PAGE_ROWS_MAX,
  readRunListPage,
} from "../../../kv/run_list/run_list.ts";
import { NOON } from "../../support/harness/harness.ts";
import {
  aCall,
  finish,
  open,
  processAll,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { readList } from "../../support/builders/run_lists.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { Budget } from "../../../kv/run_list/cursors.ts";

const ALL = { from: null, to: null };

TempStore.test("run list: a run is listed as last aggregated, and by its full id as it is now", async ({ store }) => {
  const runs = runsOf(store);
  const { page } = createRunListStore(store);
  const displayed = async (query: Partial<RunsQuery> = {}) =>
    (await page(TEAM, { ...ALL, ...query }, null, 9)).rows.map(({ status, usage }) => [
      status,
      usage.events,
    ]);
  await open(runs, 1);
  assertEquals([await displayed(), await displayed({ q: run(1) })], [[], [["running", 0]]]);
  await processAll(store);
  assertEquals(await displayed(), [["running", 0]]);
  await runs.append(TEAM, run(1), [aCall(1)], NOON);
  await finish(runs, 1);
  assertEquals([await displayed(), await displayed({ q: run(1) })], [[["running", 0]], [[
    "success",
    1,
  ]]]);
  // Rows and index are updated together.
  assertEquals(await displayed({ status: "running" }), [["running", 0]]);
  assertEquals(await displayed({ status: "success" }), []);
  await processAll(store);
  assertEquals([await displayed(), await displayed({ status: "running" })], [[["success", 1]], []]);
});

TempStore.test("run list: a search whose time is over returns the position where it goes on", async ({ store }) => {
  const runs = runsOf(store);
  for (let n = 1; n <= 20; n++) await open(runs, n, { startedAt: NOON + n });
  await processAll(store);
  const { page } = createRunListStore(store);
  const query = { ...ALL, text: run(0x13).slice(-4) };
  const ids: string[] = [];
  let pages = 0;
  for (let after: RunPosition | null = null; pages === 0 || after !== null; pages++) {
    const { rows, next, searchedTo } = await page(TEAM, query, after, 5, 0);
    ids.push(...rows.map(({ id }) => id));
    assertEquals(searchedTo, next?.at ?? null);
    after = next;
  }
  assertEquals(ids, [run(0x13)]);
  assert(pages > 1, String(pages));
});

TempStore.test("run list: filters are read along the rarest, whichever that is, and find their complete intersection", async ({ store }) => {
  const runs = runsOf(store);
  const count = 1_500;
  const labels = Array.from({ length: count }, (_, n) => ({
    startedAt: NOON + n * 1_000,
    agent: n % 3 === 0 ? "b" : "a",
    // Every run of one agent is among the oldest, every one of the other among the newest.
    ...n < 200 ? { customerId: "early" } : n >= 1_300 ? { customerId: "late" } : {},
    ...n % 50 === 7 ? { feature: "rare" } : n % 5 === 0 ? { feature: "often" } : {},
  }));
  // Both agents first: too many concurrent first calls would be refused.
  await Promise.all(labels.slice(0, 3).map((fields, n) => open(runs, n, fields)));
  await Promise.all(labels.slice(3).map((fields, n) => open(runs, n + 3, fields)));
  await processAll(store);
  const { page } = createRunListStore(store);
  const cases: [query: Partial<RunsQuery>, rowsMax: number][] = [
    [{ agent: "a", feature: "rare" }, 60],
    [{ agent: "a", feature: "rare", kind: "run", status: "running" }, 100],
    [{ agent: "a", feature: "often" }, 180],
    [{ agent: "b", customer: "early" }, 300],
    [{ feature: "often", customer: "early", agent: "b" }, 280],
    [{ customer: "late", feature: "rare" }, 60],
    [{ customer: "early", feature: "often", agent: "a", from: NOON + 100_000 }, 220],
    [{ customer: "early", agent: "b", to: NOON + 1_400_000 }, 300],
  ];
  for (const [filters, rowsMax] of cases) {
    const query = { ...ALL, ...filters };
    const expected = labels.flatMap(({ agent, customerId, feature, startedAt }, n) => {
      const is = <T>(wanted: T | undefined, value: T) => wanted === undefined || wanted === value;
      return is(query.agent, agent) && is(query.customer, customerId) &&
          is(query.feature, feature) && startedAt >= (query.from ?? 0) &&
          startedAt < (query.to ?? Infinity)
        ? [run(n)]
        : [];
    }).reverse();
    assert(expected.length > 2);
    const result = await readList(page, TEAM, query, 20);
    assertEquals(result, expected, Deno.inspect(query));
    const budget = new Budget(PAGE_ROWS_MAX);
    const { rows } = await readRunListPage(store, TEAM.id, query, null, 50, budget);
    assertEquals(rows.map(({ id }) => id), expected.slice(0, 50), Deno.inspect(query));
    assert(budget.rows <= rowsMax, `${budget.rows} rows for ${Deno.inspect(query)}`);
  }
});
