/** Spend queries: limited concurrency, fair turns, and ended by deadline or disconnect. */
import { EMPTY_MEASURES } from "../../../domain/runs/summary.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import type { RollupRow } from "../../../domain/spend/rollup.ts";
import { type Spend, spendOf } from "../../../domain/spend/spend.ts";
import { createSpendStore, encodeRollup, rollupKey } from "../../../kv/spend/rollups.ts";
import { createQueries } from "../../../kv/spend/queries.ts";
import { readScopes } from "../../../kv/base/reads.ts";
import type { Store } from "../../../kv/store.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { problemOfAsync } from "../../support/oracles/problems.ts";

const TEAM: Team = { id: "team" as TeamId, name: "team", tier: "business" };
const DAY = "2026-11-21";
const QUERY = { from: DAY, to: DAY, groupBy: "customer", filters: {} } as const;

/** Stores roll-ups of many customers on one day. */
async function fill(store: Store, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n): RollupRow => {
    const group = { kind: "customer" as const, value: `customer-${n}` };
    return { day: DAY, group, measures: { ...EMPTY_MEASURES, runs: 1, cost: BigInt(n) } };
  });
  for (let at = 0; at < count; at += 500) {
    const sets = rows.slice(at, at + 500).map((row) => ({
      key: rollupKey(TEAM.id, row),
      value: encodeRollup(row),
    }));
    await store.writer.commit({ team: TEAM.id, sets });
  }
}

/** Queries spend by customer, recording each batch of rows. */
function querySpend(store: Store, onRows: (rows: number) => void): Promise<Spend> {
  const spend = createSpendStore(store);
  return spend.ask(TEAM, () =>
    spendOf(QUERY, async function* (kind) {
      for await (const rows of spend.rows(TEAM, kind, DAY, DAY)) {
        onRows(rows.length);
        yield rows;
      }
    }));
}

TempStore.test("a spend query is charged row by row, and ends when its client disconnects", async (temp) => {
  await fill(temp.store, 3_000);
  const complete = new ReadScope(new AbortController().signal);
  let read = 0;
  const answer = await readScopes.run(
    complete,
    () => querySpend(temp.store, (rows) => read += rows),
  );
  assertEquals([answer.totals.runs, read, complete.rows], [3_000, 3_000, 3_000]);
  assert(complete.bytes > 3_000 * 50);
  const client = new AbortController();
  const scope = new ReadScope(client.signal);
  read = 0;
  const deleted = new Error("the client is gone");
  const running = readScopes.run(scope, () =>
    querySpend(temp.store, (rows) => {
      read += rows;
      client.abort(deleted);
    }));
  assertEquals(await assertRejects(() => running), deleted);
  assertEquals([read, scope.rows], [500, 500]);
});

TempStore.test("a spend query that takes too long is refused with advice, and reads no more", async (temp) => {
  await fill(temp.store, 2_000);
  const ask = createQueries(temp.store.deadlines, 0);
  const spend = createSpendStore(temp.store);
  let read = 0;
  const readAll = async () => {
    for await (const rows of spend.rows(TEAM, "customer", DAY, DAY)) {
      read += rows.length;
      // The deadline has passed when the next batch is requested.
      await new Promise((resolve) => setTimeout(resolve));
    }
    return read;
  };
  let reading: Promise<unknown> | undefined;
  const problem = await problemOfAsync(ask(TEAM.id, () => {
    const result = readAll();
    reading = result;
    return result;
  }));
  // A batch may still be under way.
  await reading?.catch(() => {});
  assertEquals(problem?.code, "overloaded");
  assertMatch(problem?.message ?? "", /fewer days/);
  assert(read <= 500, `${read} rows`);
});

Deno.test("one query per team and two in total run concurrently; teams take turns", async () => {
  using deadlines = new Deadlines(30_000, TIMERS);
  const ask = createQueries(deadlines);
  const running: string[] = [];
  const order: string[] = [];
  const requests = ["a", "a", "a", "b", "c"].map((team, n) => {
    const name = `${team}${n}`;
    return ask(team as TeamId, async () => {
      running.push(name);
      order.push(name);
      const teams = running.map(([first]) => first);
      assert(running.length <= 2 && new Set(teams).size === teams.length, `${running}`);
      await new Promise((resolve) => setTimeout(resolve));
      running.splice(running.indexOf(name), 1);
      return name;
    });
  });
  await Promise.all(requests);
  assertEquals(order, ["a0", "b3", "a1", "c4", "a2"]);
});
