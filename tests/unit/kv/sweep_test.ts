/** The sweep, case by case. */
import { addCounts } from "../../../domain/core/sums.ts";
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import { EMPTY_SWEEP } from "../../../domain/retention/retention.ts";
import { decodeRollup } from "../../../kv/spend/rollups.ts";
import { keys } from "../../../kv/base/keys.ts";
import { contentsOf, DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { cardOf, rateRow } from "../../support/builders/cards.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aRunNow, OLD_SWEPT, OldLedger, openOldLedger } from "../../support/builders/old_ledger.ts";
import { aCall, finish, open, readRun, run } from "../../support/builders/stored_runs.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";

OldLedger.test("sweep: data of every kind is removed and counted once, and a dry run predicts it", async ({ temp, retention }) => {
  assertEquals(await retention.sweep(true), OLD_SWEPT);
  assertEquals(await retention.sweep(), OLD_SWEPT);
  await assertClean(temp.store);
  assertEquals(await retention.sweep(), EMPTY_SWEEP);
});

OldLedger.test("sweep: two processes at full speed do the work once", async ({ temp }) => {
  // On a busy machine, one waits for the locks of another for seconds, or loses every attempt of a
  // commit to it. The job then retries its step.
  await using one = await openOldLedger(temp.path);
  await using other = await openOldLedger(temp.path);
  const all = [one.archive, new RetentionHarness(one.archive.store), other.archive];
  const counts = await Promise.all(all.map((each) => each.sweep(false, 20)));
  assertEquals(counts.reduce(addCounts), OLD_SWEPT);
  await assertClean(temp.store);
});

OldLedger.test("sweep: however many events a run has, few are removed at a time, and other calls run in between", async ({ temp, retention, team }) => {
  let deleted = 0;
  const commit = temp.store.writer.commit;
  temp.store.writer.commit = async (write) => {
    const { deletes = [], sets = [], sums = [] } = write;
    assert(deletes.length + sets.length + sums.length <= 1_000);
    deleted = Math.max(deleted, deletes.length);
    return await commit.call(temp.store.writer, write);
  };
  let done = false;
  const sweeping = retention.sweep().finally(() => done = true);
  let sentCount = 0;
  for (; !done; sentCount++) {
    const stored = await retention.runs.append(team, run(100 + sentCount), [aCall(1)], NOON);
    assertEquals(stored.kind, "stored");
  }
  assertEquals(await sweeping, OLD_SWEPT);
  assert(sentCount > 3, `only ${sentCount} calls came in between`);
  assert(deleted >= 300 && deleted <= 500, `${deleted} rows at once`);
});

RetentionHarness.test("sweep: a run that constantly receives events does not keep the sweep from ending", async (archive) => {
  const team = await archive.addTeam("free");
  const { runs, deletions } = archive;
  for (const n of [1, 2, 3]) await aRunNow(archive, team, n, { customerId: n > 1 ? "acme" : "b" });
  await archive.work();
  archive.nowMs += 8 * DAY_MS;
  let [done, sent] = [false, 0];
  const send = async (n: number) => {
    for (; !done; sent++) await runs.append(team, run(n), [aCall(sent * 10)], archive.nowMs);
  };
  const sending = [1, 1, 2, 2, 3, 3].map(send);
  try {
    assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, payloads: 3, events: 3 });
    assertEquals((await deletions.deleteRun(team, run(3), "key"))?.kind, "stored");
    const { job } = await deletions.deleteCustomer(team, "acme", "key");
    do {
      // Only the current events: more arrive constantly.
      const rows = await archive.pipeline.takePending("open", 80);
      await archive.pipeline.project(team.id, rows.runs.map((dirty) => dirty.run));
      await rows.ack();
      archive.nowMs += 1_000;
      await archive.stepOfDeletion();
    } while ((await deletions.get(team, job.id))?.state !== "done");
    assertEquals(await readRun(runs, team, run(2), null, 1), null);
  } finally {
    done = true;
    await Promise.all(sending);
  }
  assert(sent > 10, `only ${sent} batches`);
  await archive.work();
  await assertClean(archive.store);
});

RetentionHarness.test("sweep: events not aggregated before their run expired are still counted", async (archive) => {
  const team = await archive.addTeam("free");
  await open(archive.runs, 1, { customerId: "acme" }, team);
  await archive.work();
  // The worker has not seen these.
  await archive.runs.append(team, run(1), [aCall(7)], NOON);
  await finish(archive.runs, 1, team);
  archive.nowMs += 31 * DAY_MS;
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, records: 1, events: 1 });
  await archive.work();
  await assertClean(archive.store);
  const row = await archive.store.reader.get(
    keys.rollup(team.id, "customer", "2026-11-21", '["customer","acme"]'),
  );
  const { measures } = decodeRollup("2026-11-21", row.value as Uint8Array);
  // 7 tokens in, one out.
  assertEquals([measures.runs, measures.succeeded, measures.cost], [1, 1, 26n]);
});

RetentionHarness.test("sweep: expired events keep their price, the others are repriced", async (archive) => {
  const team = await archive.addTeam("free");
  const cost = async () => (await readRun(archive.runs, team, run(1), null, 1))?.totals.cost;
  await open(archive.runs, 1, {}, team);
  await archive.runs.append(team, run(1), [aCall(10)], NOON);
  archive.nowMs += 5 * DAY_MS;
  await archive.runs.append(team, run(1), [aCall(100)], archive.nowMs);
  await archive.work();
  assertEquals(await cost(), 35n + 305n);
  archive.nowMs += 3 * DAY_MS;
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, payloads: 1, events: 1 });
  assertEquals(await cost(), 35n + 305n);
  await archive.reprice(team, cardOf(rateRow("known", 7, 11)));
  assertEquals(await cost(), 35n + 711n);
  await assertClean(archive.store);
  // The new price is removed with the other data.
  archive.nowMs += 5 * DAY_MS;
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, payloads: 1, events: 1 });
  assertEquals(await cost(), 35n + 711n);
  await assertClean(archive.store);
  // No remaining call could have another price.
  await archive.reprice(team, cardOf(rateRow("known", 1, 1)));
  assertEquals(await cost(), 35n + 711n);
});

RetentionHarness.test("sweep: a smaller plan applies from the next sweep on, a larger one restores nothing", async (archive) => {
  const team = await archive.addTeam("enterprise");
  const moveTo = (tier: Team["tier"]) =>
    archive.store.writer.commit({ sets: [{ key: keys.team(team.id), value: { ...team, tier } }] });
  await aRunNow(archive, team, 1);
  await archive.work();
  archive.nowMs += 1_000 * DAY_MS;
  assertEquals(await archive.sweep(), EMPTY_SWEEP);
  archive.nowMs = NOON + 100 * DAY_MS;
  await moveTo("business");
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, payloads: 1, events: 1 });
  await moveTo("enterprise");
  assertEquals((await readRun(archive.runs, team, run(1), null, 1))?.payload, "removed");
  archive.nowMs += 1_000 * DAY_MS;
  assertEquals(await archive.sweep(), EMPTY_SWEEP);
  await moveTo("free");
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, records: 1 });
  await assertClean(archive.store);
});

RetentionHarness.test("sweep: an unreadable run is counted and kept, and every other one is removed", async (archive) => {
  const team = await archive.addTeam("free");
  for (let n = 0; n < 90; n++) await aRunNow(archive, team, n);
  await archive.work();
  const damaged = keys.closing(team.id, run(44));
  await archive.store.writer.commit({ sets: [{ key: damaged, value: Uint8Array.of(1, 0, 9, 9) }] });
  archive.nowMs += 31 * DAY_MS;
  const before = await contentsOf(archive.store);
  const counts = { ...EMPTY_SWEEP, records: 89, events: 89, failed: 1 };
  assertEquals(await archive.sweep(true), counts);
  assertEquals(await contentsOf(archive.store), before);
  assertEquals(await archive.sweep(), counts);
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, failed: 1 });
  const remaining = new Set((await archive.keysBelow(["run"])).map((key) => key[1]));
  assertEquals(remaining, new Set([run(44)]));
});

RetentionHarness.test("sweep: duplicates of expired events are dropped while the record exists, and count after it", async (archive) => {
  const team = await archive.addTeam("free");
  // More ids than fit one page of the ledger.
  const batches = Array.from(
    { length: 8 },
    (_, b) => Array.from({ length: 40 }, (_, i) => aCall(b * 40 + i)),
  );
  const send = async (from: RetentionHarness) => {
    let accepted = 0;
    for (const batch of batches) {
      const outcome = await from.runs.append(team, run(1), batch, from.nowMs);
      if (outcome.kind === "stored") accepted += outcome.accepted;
    }
    return accepted;
  };
  const send3 = async () => {
    // In another process with an empty cache, and in this one with a full cache.
    const cold = new RetentionHarness(archive.store);
    cold.nowMs = archive.nowMs;
    return [await send(cold), await send(archive), await send(cold)];
  };
  await open(archive.runs, 1, {}, team);
  assertEquals(await send(archive), 320);
  await archive.work();
  archive.nowMs += 8 * DAY_MS;
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, payloads: 1, events: 320 });
  assertEquals(await send3(), [0, 0, 0]);
  archive.nowMs = NOON + 31 * DAY_MS;
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, records: 1 });
  assertEquals(await send3(), [320, 0, 0]);
  await archive.work();
  await assertClean(archive.store);
});
