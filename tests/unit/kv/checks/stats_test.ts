/** Statistics of checks: pages, bounds of reads, and since when a check fails. */
import { assert, assertEquals } from "@std/assert";
import type { CheckStatsQuery } from "../../../../domain/checks/check_store.ts";
import { dayOf } from "../../../../domain/core/time.ts";
import { ReadScope } from "../../../../domain/core/read_scope.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { readScopes } from "../../../../kv/base/reads.ts";
import type { CountsRow, DayRow } from "../../../../kv/checks/day_counts.ts";
import { createCheckStatsStore, STATS_ROWS_MAX } from "../../../../kv/checks/stats.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

const DAY_MS = 86_400_000;
const CHECK = { id: "chk_eu_1" };
const ONE: CountsRow = [1, 0, 0, 0];
const ALL: CheckStatsQuery = {
  fromDay: dayOf(NOON - 400 * DAY_MS),
  toDay: dayOf(NOON),
  limit: 500,
  after: null,
};

/** Returns the day that is `days` before the tests' day. */
function daysAgo(days: number): string {
  return dayOf(NOON - days * DAY_MS);
}

async function setDays(
  temp: TempStore,
  rows: readonly (readonly [day: string, agent: string, row: DayRow])[],
): Promise<void> {
  const sets = rows.map(([day, agent, value]) => ({
    key: keys.checkCounts(TEAM.id, day, agent),
    value,
  }));
  for (let at = 0; at < sets.length; at += 400) {
    await temp.store.writer.commit({ sets: sets.slice(at, at + 400) });
  }
}

/** Stores failures at these times. */
async function setFailures(temp: TempStore, times: readonly number[]): Promise<void> {
  const sets = times.map((at, n) => ({
    key: keys.checkFailure(TEAM.id, CHECK.id, at, run(n + 1)),
    value: true,
  }));
  await temp.store.writer.commit({ sets });
}

function statsOf(temp: TempStore) {
  return createCheckStatsStore(temp.store, () => NOON);
}

TempStore.test("statistics: rows of other checks and of all agents are passed over", async (temp) => {
  const own = { counts: { [CHECK.id]: [4, 3, 2, 1] } } as const;
  await setDays(temp, [
    [daysAgo(1), "", own],
    [daysAgo(1), "a", own],
    [daysAgo(1), "b", { counts: { chk_eu_2: ONE } }],
    [daysAgo(0), "b", own],
  ]);
  const counts = { pass: 4, fail: 3, error: 2, skipped: 1 };
  const { days, next } = await statsOf(temp).read(TEAM, CHECK, ALL);
  assertEquals(days, [
    { day: daysAgo(1), agent: "a", ...counts },
    { day: daysAgo(0), agent: "b", ...counts },
  ]);
  assertEquals(next, null);
  const totals = await statsOf(temp).totals(TEAM, daysAgo(30), daysAgo(0));
  assertEquals([...totals], [[CHECK.id, [{ day: daysAgo(1), agent: null, ...counts }]]]);
});

TempStore.test("statistics: a page reads a bounded number of rows, and the next one continues", async (temp) => {
  const others = Array.from({ length: STATS_ROWS_MAX + 50 }, (_, n) => {
    const agent = `agent ${String(n).padStart(5, "0")}`;
    return [daysAgo(2), agent, { counts: { chk_eu_2: ONE } }] as const;
  });
  await setDays(temp, [...others, [daysAgo(1), "z", { counts: { [CHECK.id]: ONE } }]]);
  const read = async (after: CheckStatsQuery["after"]) => {
    const scope = new ReadScope(AbortSignal.timeout(10_000));
    const page = await readScopes.run(
      scope,
      () => statsOf(temp).read(TEAM, CHECK, { ...ALL, after }),
    );
    assert(scope.rows < STATS_ROWS_MAX + 500, `${scope.rows}`);
    return page;
  };
  const first = await read(null);
  assertEquals(first.days, []);
  const second = await read(first.next);
  assertEquals(second.days.map(({ agent }) => agent), ["z"]);
  assertEquals(second.next, null);
});

TempStore.test("statistics: the latest 20 failures, newest first; other teams have none", async (temp) => {
  await setFailures(temp, Array.from({ length: 25 }, (_, n) => NOON + n));
  const { failures } = await statsOf(temp).read(TEAM, CHECK, ALL);
  assertEquals(failures.length, 20);
  assertEquals(failures[0], { run: run(25), at: NOON + 24, got: null, message: null });
  assertEquals(failures.at(-1)?.at, NOON + 5);
  const other = { ...TEAM, id: "other" as typeof TEAM.id };
  const theirs = await statsOf(temp).read(other, CHECK, ALL);
  assertEquals([theirs.failures, theirs.failingSince], [[], null]);
});
