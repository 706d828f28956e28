/** Statistics of checks, and trials, which are limited in time, in reads and in number. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type CheckStatsQuery,
  type CheckTrial,
  TRIAL,
} from "../../../../domain/checks/check_store.ts";
import { dayOf } from "../../../../domain/core/time.ts";
import { ReadScope } from "../../../../domain/core/read_scope.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { readScopes } from "../../../../kv/base/reads.ts";
import type { CountsRow, DayRow } from "../../../../kv/checks/day_counts.ts";
import { createCheckStatsStore, STATS_ROWS_MAX } from "../../../../kv/checks/stats.ts";
import {
  finish,
  open,
  processAll,
  processingStoreOf,
  run,
  runsOf,
  TEAM,
} from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";
import { Deadlines } from "../../../../runtime/deadlines.ts";
import { Overloaded } from "../../../../domain/core/errors.ts";
import type { TeamId } from "../../../../domain/core/ids.ts";
import type { Team } from "../../../../domain/teams/team.ts";
import { createCheckTrialStore } from "../../../../kv/checks/check_trial.ts";
import type { Store } from "../../../../kv/store.ts";
import { aCheck } from "../../../support/builders/checks.ts";

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

const OTHER: Team = { ...TEAM, id: "other" as TeamId };

/** Stores `count` closed runs of a team. */
async function fill(store: Store, count: number, team = TEAM, from = 1): Promise<void> {
  const runs = runsOf(store);
  for (let n = from; n < from + count; n++) {
    await open(runs, n, {}, team);
    await finish(runs, n, team);
  }
  await processAll(store, processingStoreOf(store));
}

function latest(last: number, expression = "usage.events == 0"): CheckTrial {
  return { settings: aCheck(expression), slug: null, runs: { last, agent: null } };
}

function trialsOf(store: Store, msMax?: number) {
  return createCheckTrialStore({ store, now: () => NOON, ...msMax && { msMax } });
}

/** Returns trials whose deadlines the test ends, in the order in which they began. */
function timedTrials(store: Store, judged = () => {}) {
  const ends: (() => void)[] = [];
  const after = (_: number, end: () => void) => {
    ends.push(end);
    return () => {};
  };
  const deadlines = new Deadlines(1_000, { now: () => 0, after });
  const now = () => {
    judged();
    return NOON;
  };
  return { ends, trials: createCheckTrialStore({ store: { ...store, deadlines }, now }) };
}

TempStore.test("trial: the time ends it, and what was judged is returned", async (temp) => {
  await fill(temp.store, 120);
  let judged = 0;
  const { ends, trials } = timedTrials(temp.store, () => ++judged === 15 && ends[0]?.());
  const cut = await trials.try(TEAM, latest(120));
  assertEquals([cut?.runs, cut?.pass, cut?.isCut], [15, 15, true]);
  const startMs = performance.now();
  const late = await trialsOf(temp.store, 40).try(TEAM, latest(120));
  const tookMs = performance.now() - startMs;
  assert(late !== null && late.isCut && late.runs < 120, JSON.stringify(late));
  assert(tookMs < TRIAL.msMax, `${tookMs} ms`);
  const complete = await trialsOf(temp.store).try(TEAM, latest(120));
  assertEquals([complete?.runs, complete?.pass, complete?.isCut], [120, 120, false]);
});

TempStore.test("trial: runs that it does not apply to are looked at, but not without end", async (temp) => {
  await fill(temp.store, 30);
  const scope = new ReadScope(new AbortController().signal);
  const settings = aCheck("true", { agents: ["b*"] });
  const result = await readScopes.run(
    scope,
    () => trialsOf(temp.store).try(TEAM, { settings, slug: null, runs: { last: 1, agent: null } }),
  );
  assertEquals([result?.runs, result?.isCut], [0, false]);
  assert(scope.rows > 30 && scope.rows < 200, `${scope.rows}`);
});

TempStore.test("trial: one of a team at a time, a bounded number waits, another team does not", async (temp) => {
  await fill(temp.store, 40);
  await fill(temp.store, 5, OTHER, 100);
  const trials = trialsOf(temp.store, 1_000);
  const many = Array.from({ length: 100 }, () => trials.try(TEAM, latest(40)));
  const allEnded = Promise.allSettled(many);
  const other = await trials.try(OTHER, latest(40));
  assertEquals([other?.runs, other?.isCut], [5, false]);
  const ends = await allEnded;
  const refused = ends.filter((end) => end.status === "rejected");
  assert(refused.length >= 79, `${refused.length}`);
  assert(refused.every(({ reason }) => reason instanceof Overloaded));
  const results = ends.flatMap((end) => end.status === "fulfilled" ? [end.value] : []);
  assert(results.length > 0 && results.every((each) => each !== null && each.runs <= 40));
});

TempStore.test("trial: a wait that takes all of its time is refused, and a client that leaves ends it", async (temp) => {
  await fill(temp.store, 60);
  const begun = Promise.withResolvers<void>();
  const { ends, trials } = timedTrials(temp.store, begun.resolve);
  const first = trials.try(TEAM, latest(60));
  const second = trials.try(TEAM, latest(60));
  await begun.promise;
  ends[1]?.();
  await assertRejects(() => second, Overloaded);
  ends[0]?.();
  assertEquals((await first)?.isCut, true);
  const client = new AbortController();
  const scope = new ReadScope(client.signal);
  const leaving = readScopes.run(scope, () => trialsOf(temp.store).try(TEAM, latest(60)));
  client.abort(new TypeError("gone"));
  await assertRejects(() => leaving, TypeError, "gone");
});

TempStore.test("trial: other work runs between runs whose checks take long", async (temp) => {
  await fill(temp.store, 20);
  const loops = "agent.size() < 0 || [1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, a + b > 0))";
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const result = await trialsOf(temp.store).try(TEAM, latest(20, loops));
  clearInterval(timer);
  assertEquals([result?.runs, result?.error], [20, 0]);
  assert(turns >= 20, `${turns}`);
});
