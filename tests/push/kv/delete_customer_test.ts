/** Deleting a customer removes all of its data and no other customer's. */
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { CustomerDeletion } from "../../../domain/retention/retention.ts";
import { ALL_ENTRIES, customerPart, readEntries } from "../../../kv/index/entries.ts";
import { keys } from "../../../kv/base/keys.ts";
import { SEED } from "../../support/harness/seed.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aRunNow, openOldLedger } from "../../support/builders/old_ledger.ts";
import { aCall, open, readRun, run } from "../../support/builders/stored_runs.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

import fc from "fast-check";

/** Deletes a customer completely; returns the receipt. */
async function deleteCustomer(
  archive: RetentionHarness,
  team: Team,
  customer = "acme",
): Promise<CustomerDeletion> {
  const { job } = await archive.deletions.deleteCustomer(team, customer, "key");
  await archive.deleteAll();
  const done = await archive.deletions.get(team, job.id);
  assert(done !== null && done.state === "done");
  return done;
}

/** Runs, events and days of a receipt. */
function sumsOf({ runs, events, days, failed }: CustomerDeletion): number[] {
  return [runs, events, days, failed];
}

/** A run of a customer at a given time, with calls to several models. */
interface CustomerRun {
  readonly customer: string | undefined;
  readonly day: number;
  readonly agent: string;
  readonly feature: string | undefined;
  readonly models: readonly string[];
  readonly closed: boolean;
}

const customerRun: fc.Arbitrary<CustomerRun> = fc.record({
  customer: fc.constantFrom("acme", "acme", "globex", undefined),
  // Runs of the first days expire before the customer is deleted.
  day: fc.constantFrom(0, 1, 50, 51),
  agent: fc.constantFrom("a", "b"),
  feature: fc.constantFrom("search", undefined),
  models: fc.array(fc.constantFrom("known", "new", "other"), { maxLength: 3 }),
  closed: fc.boolean(),
});

/** Stores the given runs, expires those of the first days, and aggregates everything. */
async function live(
  archive: RetentionHarness,
  team: Team,
  all: readonly (CustomerRun | null)[],
): Promise<void> {
  for (const [n, each] of all.entries()) {
    if (each === null) continue;
    const at = NOON + each.day * DAY_MS;
    const { agent, feature, customer: customerId } = each;
    const request = { id: run(n), agent, feature, customerId, startedAt: at + n };
    await archive.runs.open(team, request, at);
    const calls = each.models.map((model, i) => aCall(n * 10 + i, model));
    if (calls.length > 0) await archive.runs.append(team, run(n), calls, at);
    if (!each.closed) continue;
    await archive.runs.finish(team, run(n), { status: "success", finishedAt: at + n + 1 }, at);
  }
  await archive.work();
  archive.nowMs = NOON + 52 * DAY_MS;
  await archive.sweep();
}

/** All rows of a team's spend. */
async function spendOf({ store }: TempStore, team: Team): Promise<string[]> {
  const rows: string[] = [];
  for await (
    const { key, value } of store.reader.list<Uint8Array>({ prefix: ["rollup", team.id] })
  ) {
    rows.push(`${key.slice(2).join(" ")} ${new TextDecoder().decode(value)}`);
  }
  return rows;
}

Deno.test("delete a customer: spend in every grouping is as if the customer never existed, and the receipt is exact", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(customerRun, { minLength: 1, maxLength: 25 }), async (all) => {
      await using temp = await TempStore.open();
      const archive = new RetentionHarness(temp.store);
      const team = await archive.addTeam("free");
      await live(archive, team, all);
      const mine = all.filter(({ customer }) => customer === "acme");
      const young = mine.filter(({ day }) => day >= 50);
      const old = new Set(mine.filter(({ day }) => day < 50).map(({ day }) => day));
      const events = young.reduce((sum, { models }) => sum + models.length, 0);
      assertEquals(
        sumsOf(await deleteCustomer(archive, team)),
        [young.length, events, old.size, 0],
      );
      await assertClean(temp.store);
      const never = new RetentionHarness(temp.store);
      const other = await never.addTeam("free");
      await live(never, other, all.map((each) => each.customer === "acme" ? null : each));
      assertEquals(await spendOf(temp, team), await spendOf(temp, other));
    }),
    { seed: SEED, numRuns: 12 },
  );
});

RetentionHarness.test("delete a customer: for older runs any number of label combinations is one day of spend", async (archive) => {
  const team = await archive.addTeam("free");
  // As many as one step handles, and one more or less.
  const counts = [1, 29, 30, 31, 60, 61];
  let n = 0;
  for (const [day, count] of counts.entries()) {
    const startedAt = NOON + day * DAY_MS;
    await Promise.all(Array.from({ length: count }, async (_, i) => {
      const feature = `feature ${i}`;
      await open(archive.runs, n++, { startedAt, customerId: `c${count}`, feature }, team);
    }));
  }
  await open(archive.runs, n, { startedAt: NOON, customerId: "globex" }, team);
  await archive.work();
  archive.nowMs += 31 * DAY_MS;
  assertEquals((await archive.sweep()).records, n + 1);
  for (const count of counts) {
    const receipt = await deleteCustomer(archive, team, `c${count}`);
    assertEquals(sumsOf(receipt), [0, 0, 1, 0], `${count} combinations`);
    await assertClean(archive.store);
  }
  const remaining = await archive.keysBelow(["rollup", team.id]);
  assertEquals(new Set(remaining.map((key) => key[3])), new Set(["2026-11-21"]));
  assertEquals(sumsOf(await deleteCustomer(archive, team, "globex")), [0, 0, 1, 0]);
  assertEquals(await archive.keysBelow(["rollup"]), []);
  assertEquals(await archive.keysBelow(["removed_rollup"]), []);
});

TempStore.test("delete a customer: each row of a day's models is read about once, however many belong to the customer", async (temp) => {
  let rows = 0;
  const reader = new Proxy(temp.store.reader, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== "list") return typeof value === "function" ? value.bind(target) : value;
      return async function* (...args: Parameters<Deno.Kv["list"]>) {
        for await (const row of target.list(...args)) {
          if (row.key[0] === "removed_rollup" && row.key[2] === "model_cell") rows++;
          yield row;
        }
      };
    },
  });
  const archive = new RetentionHarness({ ...temp.store, reader });
  const team = await archive.addTeam("free");
  // Two customers, each with ten runs of 20 models.
  for (let n = 0; n < 20; n++) {
    const customerId = n % 2 > 0 ? "acme" : "globex";
    await open(archive.runs, n, { customerId, feature: `f${n}` }, team);
    const calls = Array.from({ length: 20 }, (_, i) => aCall(n * 20 + i, `model ${i}`));
    await archive.runs.append(team, run(n), calls, NOON);
  }
  await archive.work();
  archive.nowMs += 31 * DAY_MS;
  await archive.sweep();
  const { length: stored } = await temp.keysBelow(["removed_rollup", team.id, "model_cell"]);
  assertEquals(stored, 400);
  rows = 0;
  assertEquals(sumsOf(await deleteCustomer(archive, team, "globex")), [0, 0, 1, 0]);
  // The other customer's rows come first. Rows that a step leaves on a page are read again.
  assert(rows <= 2 * stored, `${rows} rows read of ${stored}`);
  await assertClean(temp.store);
});

RetentionHarness.test("delete a customer: runs stored after the request stay, and the job still ends", async (archive) => {
  const team = await archive.addTeam("business");
  for (let n = 0; n < 100; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  await archive.work();
  const { job } = await archive.deletions.deleteCustomer(team, "acme", "key");
  archive.nowMs += 1;
  let next = 100;
  do {
    for (let i = 0; i < 50; i++) await aRunNow(archive, team, next++, { customerId: "acme" });
    await archive.work();
    assert(next < 1_000, "it runs after new runs");
  } while (await archive.stepOfDeletion());
  assertEquals((await archive.deletions.get(team, job.id))?.runs, 100);
  for (let n = 100; n < next; n++) {
    assert(await readRun(archive.runs, team, run(n), null, 1), `run ${n} of ${next}`);
  }
  await assertClean(archive.store);
});

RetentionHarness.test("delete a customer: an unreadable run is counted and kept, every other run is deleted", async (archive) => {
  const team = await archive.addTeam("business");
  for (let n = 0; n < 90; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  await archive.work();
  const sets = [3, 60].map((n) => ({
    key: keys.closing(team.id, run(n)),
    value: Uint8Array.of(1, 0, 9, 9),
  }));
  await archive.store.writer.commit({ sets });
  assertEquals(sumsOf(await deleteCustomer(archive, team)), [88, 88, 0, 2]);
  const order = keys.runsBy(team.id, "customer", customerPart("acme"));
  const { entries } = await readEntries(archive.store, order, ALL_ENTRIES, { limit: 9 });
  assertEquals(entries.map(({ run }) => run), [run(3), run(60)]);
});

TempStore.test("delete a customer: two processes on one job delete and count every run once", async (temp) => {
  const archive = new RetentionHarness(temp.store);
  const team = await archive.addTeam("free");
  for (let n = 0; n < 5; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  await archive.work();
  archive.nowMs += 31 * DAY_MS;
  await archive.sweep();
  for (let n = 10; n < 160; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  await archive.work();
  await using third = await openOldLedger(temp.path);
  const all = [archive, new RetentionHarness(temp.store), third.archive];
  for (const each of all) each.nowMs = archive.nowMs;
  const created = await Promise.all(
    all.map(({ deletions }) => deletions.deleteCustomer(team, "acme", "key")),
  );
  const ids = new Set(created.map((each) => each.job.id));
  assertEquals([ids.size, created.filter(({ kind }) => kind === "stored").length], [1, 1]);
  await Promise.all(all.map((each) => each.deleteAll()));
  const [id = ""] = ids;
  const done = await archive.deletions.get(team, id);
  assertEquals(done && [done.state, ...sumsOf(done)], ["done", 150, 150, 1, 0]);
  await assertClean(temp.store);
});
