/** Rows of run lists, and how much of the index is read to find them. */
import { assert, assertEquals } from "@std/assert";
import type { RunPosition, RunsQuery } from "../../../domain/runs/list.ts";
import {
  createRunListStore,
  PAGE_ROWS_MAX,
  readRunListPage,
} from "../../../kv/run_list/run_list.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
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
import { keys } from "../../../kv/base/keys.ts";
import { indexValue, isSameValue, maybeListed } from "../../../kv/run_list/run_index.ts";
import fc from "fast-check";
import { aHeartbeat, aRun, at } from "../../support/builders/requests.ts";

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

const label = fc.option(fc.string({ maxLength: 4 }));
const anIndexedRun = fc.record({
  kind: fc.constantFrom("run" as const, "heartbeat" as const),
  agent: label,
  customer: label,
  feature: label,
  minCost: fc.bigInt({ min: 1n, max: 10n ** 16n }),
});

Deno.test("index: a row never excludes its own run, whatever the filter", () => {
  fc.assert(fc.property(anIndexedRun, fc.array(fc.nat(4), { maxLength: 5 }), (run, left) => {
    const { kind, minCost, ...labels } = run;
    const filters = Object.entries(run).filter((_, i) => !left.includes(i));
    const maybe = maybeListed({ ...ALL, ...Object.fromEntries(filters) });
    assert(maybe(indexValue(kind, { ...labels, status: "running" })));
    assert(maybe(indexValue(kind, { ...labels, status: "running" }, minCost)));
  }));
});

Deno.test("index: a row excludes runs of another kind, with no label or nearly any other label, and of lower cost", () => {
  const reported = indexValue(
    "run",
    { agent: "a", customer: null, feature: "f", status: "running" },
    5n,
  );
  const is = (query: Parameters<typeof maybeListed>[0]) => maybeListed(query)(reported);
  assertEquals([is({ ...ALL, kind: "run" }), is({ ...ALL, kind: "heartbeat" })], [true, false]);
  assertEquals([is({ ...ALL, customer: null }), is({ ...ALL, customer: "c" })], [true, false]);
  assertEquals([is({ ...ALL, agent: null }), is({ ...ALL, feature: null })], [false, false]);
  assertEquals([is({ ...ALL, minCost: 5n }), is({ ...ALL, minCost: 6n })], [true, false]);
  const others = Array.from({ length: 1_000 }, (_, n) => is({ ...ALL, agent: `agent-${n}` }));
  assert(others.filter(Boolean).length < 12);
  // Rows of the old format, without details.
  assert(maybeListed({ ...ALL, agent: "b" })(true));
});

TempStore.test("index: all rows of a run have the label set by its close", async ({ store }) => {
  const runs = runsOf(store);
  const { page } = createRunListStore(store);
  const beat = { id: run(1), agent: "a", startedAt: NOON, reported: {}, feature: "f" } as const;
  const result = async (customer: string | null) =>
    (await page(TEAM, { ...ALL, agent: "a", feature: "f", customer }, null, 9)).rows.length;
  await runs.heartbeat(TEAM, { ...beat, status: "start", customerId: "c" }, NOON);
  await processAll(store);
  assertEquals([await result("c"), await result("d")], [1, 0]);
  await runs.heartbeat(TEAM, { ...beat, status: "ok", customerId: "d" }, NOON + 1);
  await processAll(store);
  assertEquals([await result("c"), await result("d")], [0, 1]);
  const prefix = keys.teamRunsBy(TEAM.id);
  const rows = await Array.fromAsync(store.reader.list<Uint8Array>({ prefix }));
  const [first] = rows;
  assert(first !== undefined && rows.length > 4);
  assert(rows.every(({ value }) => isSameValue(value, first.value)));
});

const HOUR_MS = 3_600_000;

Harness.test("starts are those of the runs in a range, by kind of order, with their costs", async (h) => {
  const send = (n: number, hours: number, fields = {}) =>
    h.post("/v1/heartbeats", aHeartbeat(n, { started_at: at(-hours * HOUR_MS), ...fields }));
  await send(1, 3);
  await send(2, 2, { status: "fail", cost_usd: 0.25 });
  await send(3, 1, { status: "timeout", cost_usd: 3 });
  await h.post("/v1/runs", aRun(4, { started_at: at(-30 * 60_000) }));
  const { key } = await h.addTeam("business");
  await h.post("/v1/heartbeats", aHeartbeat(5), { key });
  await h.worker.idle();
  const list = createRunListStore(h.store);
  const read = async (
    of: Parameters<typeof list.starts>[1],
    fromMs = 0,
    toMs = NOON + 1,
    max = 10,
  ) => {
    const starts = await list.starts(h.team, of, fromMs, toMs, max);
    return starts?.map(({ at, cost }) => [(NOON - at) / HOUR_MS, cost])
      .sort(([a], [b]) => Number(b) - Number(a)) ?? null;
  };
  assertEquals(await read("runs"), [[3, 0n], [2, 0n], [1, 0n], [0.5, 0n]]);
  assertEquals(await read("runs", NOON - 2 * HOUR_MS, NOON - HOUR_MS), [[2, 0n]]);
  assertEquals(await read("failures"), [[2, 0n], [1, 0n]]);
  assertEquals(await read("running"), [[0.5, 0n]]);
  assertEquals(await read("costs"), [[2, 250_000_000_000n], [1, 3_000_000_000_000n]]);
  assertEquals(await read("runs", 0, NOON + 1, 4), await read("runs"));
  assertEquals(await read("runs", 0, NOON + 1, 3), null);
});
