/** Run lists: every filter and every page against all runs in memory. */
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import {
  createRunListStore,
  readRunListPage,
  type RunListStore,
} from "../../../kv/run_list/run_list.ts";
import { keys } from "../../../kv/base/keys.ts";
import { costPart, costPartsFrom, modelPart, modelPrefix } from "../../../kv/index/entries.ts";
import type { Store } from "../../../kv/store.ts";
import { SEED } from "../../support/harness/seed.ts";
import { RetentionHarness } from "../../support/harness/retention_harness.ts";
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
import {
  anyQuery,
  anyRun,
  LIST_CARD,
  listOf,
  readList,
  send,
} from "../../support/builders/run_lists.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { Budget } from "../../../kv/run_list/cursors.ts";

import fc from "fast-check";

const OTHER: Team = { ...TEAM, id: "other" as TeamId };
const ALL = { from: null, to: null };

/** Pages with so few reads that most end early. */
function poorPages(store: Store, rowsMax: number): RunListStore["page"] {
  return (team, query, after, limit) =>
    readRunListPage(store, team.id, query, after, limit, new Budget(rowsMax));
}

Deno.test("run list: the pages of any query contain exactly the matching runs, newest first", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyRun, fc.boolean()), { maxLength: 40 }),
      fc.array(
        fc.tuple(anyQuery, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 400 })),
        {
          minLength: 10,
          maxLength: 10,
        },
      ),
      async (sent, queries) => {
        await using temp = await TempStore.open();
        const { store } = temp;
        const runs = runsOf(store, LIST_CARD);
        for (const [n, [one, isOurs]] of sent.entries()) {
          await send(runs, isOurs ? TEAM : OTHER, n, one);
          // Some are aggregated before the next, some together with it.
          if (n % 3 === 0) await processAll(store);
        }
        await processAll(store);
        const { page } = createRunListStore(store);
        for (const team of [TEAM, OTHER]) {
          const all = new Map(
            [...sent.entries()].filter(([, [, isOurs]]) => isOurs === (team === TEAM))
              .map(([n, [one]]) => [n, one]),
          );
          for (const [query, limit, rowsMax] of queries) {
            const expected = listOf(all, query);
            assertEquals(await readList(page, team, query, limit), expected, Deno.inspect(query));
            const poor = poorPages(store, rowsMax);
            assertEquals(await readList(poor, team, query, limit), expected, Deno.inspect(query));
          }
        }
      },
    ),
    { seed: SEED, numRuns: 25 },
  );
});

RetentionHarness.test("run list: runs that are added, closed or removed during paging hide and repeat no other run", async (archive) => {
  const team = await archive.addTeam("business");
  const { runs, deletions } = archive;
  for (let n = 1; n <= 60; n++) {
    await open(runs, n, { startedAt: NOON + n * 1_000 }, team);
  }
  await archive.work();
  let step = 0;
  const result = await readList(createRunListStore(archive.store).page, team, ALL, 5, async () => {
    step++;
    // An already listed run ends, so does one not yet listed, and one is removed; others begin in
    // between.
    await finish(runs, 61 - step, team);
    await finish(runs, step, team);
    if (step === 3) await deletions.deleteRun(team, run(20), "key");
    await open(runs, 100 + step, { startedAt: NOON + step * 5_000 + 1 }, team);
    await open(runs, 200 + step, { startedAt: NOON + 100_000 + step }, team);
    await archive.work();
  });
  assertEquals(new Set(result).size, result.length);
  for (let n = 1; n <= 60; n++) assertEquals(result.includes(run(n)), n !== 20, `run ${n}`);
  assert(
    !result.some((id) => id > run(200)),
    "what is newer than the first page is on no later one",
  );
});

TempStore.test("run list: a page of maximum size is full, and concurrent page reads are all correct", async (temp) => {
  const runs = runsOf(temp.store);
  const count = 1_010;
  await Promise.all(
    Array.from({ length: count }, (_, n) => open(runs, n, { startedAt: NOON + n })),
  );
  await processAll(temp.store);
  const { page } = createRunListStore(temp.store);
  // Twice as many as a team's slots: more would reach the deadline of reads on a slow machine.
  const pages = await Promise.all(Array.from({ length: 4 }, () => page(TEAM, ALL, null, 1_000)));
  for (const { rows, next, searchedTo } of pages) {
    assertEquals([rows.length, next?.run, searchedTo], [1_000, run(10), null]);
    assertEquals(rows[0]?.id, run(count - 1));
  }
  const last = { at: NOON + 10, run: run(10) };
  assertEquals((await page(TEAM, ALL, last, 10)).rows.length, 10);
  assertEquals((await page(TEAM, ALL, last, 10)).next, null);
});

RetentionHarness.test("run list: a deleted or expired run leaves no row of the index", async (archive) => {
  const team = await archive.addTeam("business");
  const { runs, deletions } = archive;
  await open(runs, 1, { customerId: "c", feature: "f" }, team);
  await runs.append(team, run(1), [aCall(1), aCall(2, "new", "p")], NOON);
  await finish(runs, 1, team);
  await runs.append(team, run(1), [aCall(3)], NOON + 9);
  await runs.append(team, run(2), [aCall(4)], NOON);
  await archive.work();
  const rows = await archive.keysBelow(["run_by", team.id]);
  const kinds = rows.map((key) => `${String(key[2])} ${String(key[3])}`);
  assertEquals(kinds.toSorted(), [
    'agent ["agent","a"]',
    "cost 101",
    'customer ["customer","c"]',
    'feature ["feature","f"]',
    "has late",
    "has orphan",
    "has unpriced",
    "kind run",
    'model ["known",null]',
    'model ["new","p"]',
    "status success",
  ]);
  await deletions.deleteRun(team, run(1), "key");
  await deletions.deleteRun(team, run(2), "key");
  for (const prefix of [keys.teamRunsBy(team.id), keys.blocks(keys.teamRunsBy(team.id))]) {
    assertEquals(await archive.keysBelow(prefix), []);
  }
  await assertClean(archive.store);
});

TempStore.test("run list: a run whose opening arrives late leaves the orphans and moves to its start", async (temp) => {
  const { store } = temp;
  const runs = runsOf(store);
  const { page } = createRunListStore(store);
  const ids = async (has?: "orphan") =>
    (await page(TEAM, { ...ALL, ...has === undefined ? {} : { has } }, null, 9)).rows
      .map(({ id, has, receivedAt }) => [id, has, receivedAt]);
  await runs.append(TEAM, run(1), [aCall(1)], NOON + 5);
  await runs.append(TEAM, run(1), [aCall(2)], NOON + 7);
  await processAll(store);
  assertEquals([await ids("orphan"), await ids()], [[[run(1), ["orphan"], NOON + 5]], []]);
  await open(runs, 1, { startedAt: NOON - 5 });
  await processAll(store);
  assertEquals([await ids("orphan"), await ids()], [[], [[run(1), [], NOON]]]);
  assert((await temp.keysBelow(["run_by", TEAM.id])).every((key) => key[4] === NOON - 5));
});

Deno.test("run list: a model is found for every provider, also with the longest names", async () => {
  const long = "m".repeat(149) + "\u{1F600}".repeat(60);
  for (const model of ["m", 'quote"d', long, "\u{1F600}".repeat(256)]) {
    for (const provider of [null, "p", "q".repeat(256)]) {
      assert(modelPart({ provider, model }).startsWith(modelPrefix(model)), `${model} ${provider}`);
    }
  }
  await using temp = await TempStore.open();
  const runs = runsOf(temp.store);
  for (const [n, [model, provider]] of [[long, null], [long, "p"], [`${long}x`, "p"]].entries()) {
    await open(runs, n + 1, { startedAt: NOON + n });
    await runs.append(TEAM, run(n + 1), [aCall(n + 1, model ?? "", provider ?? null)], NOON);
  }
  await processAll(temp.store);
  const { page } = createRunListStore(temp.store);
  const numbers = async (query: { model: string; provider?: string | null }) =>
    (await page(TEAM, { ...ALL, ...query }, null, 9)).rows.map(({ id }) => Number(id.slice(-1)));
  assertEquals(await numbers({ model: long }), [2, 1]);
  assertEquals(await numbers({ model: long, provider: null }), [1]);
  assertEquals(await numbers({ model: long, provider: "p" }), [2]);
  assertEquals(await numbers({ model: `${long}x` }), [3]);
  assertEquals(await numbers({ model: "m" }), []);
});

Deno.test("run list: a cost filter finds every run from its minimum on and reads few others", () => {
  const amount = fc.tuple(fc.integer({ min: 1, max: 9_999 }), fc.nat(20))
    .map(([first, digits]) => BigInt(first) * 10n ** BigInt(digits));
  fc.assert(fc.property(amount, amount, (cost, min) => {
    const isFound = costPartsFrom(min).includes(costPart(cost));
    if (cost >= min) assert(isFound);
    const isListed = min >= 2n * 10n ** 9n && cost < 5n * 10n ** 15n;
    if (isListed && 5n * cost < 2n * min) assert(!isFound);
  }));
});
