/** Retention of runs whose entries share rows: each run leaves its blocks, and its neighbours stay. */
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import { EMPTY_SWEEP } from "../../../domain/retention/retention.ts";
import { addEntries, ALL_ENTRIES, customerPart, readEntries } from "../../../kv/index/entries.ts";
import { keys } from "../../../kv/base/keys.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aRunNow, openOldLedger } from "../../support/builders/old_ledger.ts";
import { aCall, run } from "../../support/builders/stored_runs.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

/** Runs that one commit projects; more than one step of a sweep or of a deletion covers. */
const RUNS = 90;

/** Stores runs of a customer, a millisecond apart, and projects all at once. */
async function store(archive: RetentionHarness, team: Team, runs = RUNS): Promise<void> {
  for (let n = 0; n < runs; n++, archive.nowMs++) {
    await aRunNow(archive, team, n, { customerId: "acme" });
  }
  await archive.pipeline.project(team.id, Array.from({ length: runs }, (_, n) => run(n)));
  await archive.work();
}

/** Returns the numbers of the runs with an entry in an order. */
async function entriesOf(temp: TempStore, order: Deno.KvKey): Promise<number[]> {
  const { entries } = await readEntries(temp.store, order, ALL_ENTRIES, { limit: 1_000 });
  return entries.map((entry) => parseInt(entry.run.slice(7), 16));
}

/** Returns the numbers from `first` up to `end`, exclusive. */
function numbers(first: number, end: number): number[] {
  return Array.from({ length: end - first }, (_, i) => first + i);
}

/** The order of the customer's runs. */
function customerOrder(team: Team): Deno.KvKey {
  return keys.runsBy(team.id, "customer", customerPart("acme"));
}

TempStore.test("sweep: of the runs that share a row, those before the cutoff expire and the others stay", async (temp) => {
  const archive = new RetentionHarness(temp.store);
  const team = await archive.addTeam("free");
  await store(archive, team);
  const payloads = keys.expiryOrder(team.id, "payload");
  const blocks = await temp.keysBelow(keys.blocks(payloads));
  assert(blocks.length > 0 && blocks.length <= 3, `${blocks.length} blocks`);
  // Payloads are kept for 7 days.
  for (const [from, end] of [[0, 1], [1, 2], [2, 60], [60, RUNS]] as const) {
    archive.nowMs = NOON + 7 * DAY_MS + end;
    const counts = { ...EMPTY_SWEEP, payloads: end - from, events: end - from };
    assertEquals(await archive.sweep(true), counts);
    assertEquals(await archive.sweep(), counts);
    assertEquals(await archive.sweep(), EMPTY_SWEEP);
    assertEquals(await entriesOf(temp, payloads), numbers(end, RUNS));
    assertEquals(await entriesOf(temp, customerOrder(team)), numbers(0, RUNS));
    await assertClean(temp.store);
  }
  // Records are kept for 30 days.
  for (const [from, end] of [[0, 70], [70, RUNS]] as const) {
    archive.nowMs = NOON + 30 * DAY_MS + end;
    const counts = { ...EMPTY_SWEEP, records: end - from };
    assertEquals(await archive.sweep(true), counts);
    assertEquals(await archive.sweep(), counts);
    assertEquals(await entriesOf(temp, customerOrder(team)), numbers(end, RUNS));
    await assertClean(temp.store);
  }
  for (const family of ["block", "run", "run_by", "change", "expiry"]) {
    assertEquals(await temp.keysBelow([family]), []);
  }
});

TempStore.test("sweep: a run that returns to its first expiry entry leaves the block of that entry", async (temp) => {
  const archive = new RetentionHarness(temp.store);
  const team = await archive.addTeam("free");
  const { nowMs: at, pipeline, runs } = archive;
  const both = [run(0), run(1)];
  for (const id of both) await runs.open(team, { id, agent: "a", startedAt: at }, at);
  // Their entries by record share a row, which stays when events give one run another entry.
  await pipeline.project(team.id, both);
  assertEquals((await temp.keysBelow(keys.blocks(keys.expiryOrder(team.id, "record")))).length, 1);
  await runs.append(team, run(0), [aCall(1)], at);
  await archive.work();
  archive.nowMs = at + 8 * DAY_MS;
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, payloads: 1, events: 1 });
  assertEquals(await entriesOf(temp, keys.expiryOrder(team.id, "record")), [0, 1]);
  await assertClean(temp.store);
});

TempStore.test("sweep: an unreadable run does not keep the runs that share its row", async (temp) => {
  const archive = new RetentionHarness(temp.store);
  const team = await archive.addTeam("free");
  await store(archive, team);
  const key = keys.closing(team.id, run(44));
  await temp.store.writer.commit({ sets: [{ key, value: Uint8Array.of(1, 0, 9, 9) }] });
  archive.nowMs += 31 * DAY_MS;
  const others = RUNS - 1;
  const counts = { ...EMPTY_SWEEP, records: others, events: others, failed: 1 };
  assertEquals(await archive.sweep(true), counts);
  assertEquals(await archive.sweep(), counts);
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, failed: 1 });
  const orders = [
    keys.expiryOrder(team.id, "payload"),
    customerOrder(team),
    keys.changes(team.id),
  ];
  for (const order of orders) assertEquals(await entriesOf(temp, order), [44]);
});

RetentionHarness.test("sweep: a damaged row of entries does not keep the sweep from ending", async (archive) => {
  const team = await archive.addTeam("free");
  await store(archive, team, 50);
  const prefix = keys.blocks(keys.expiryOrder(team.id, "payload"));
  const [row] = await Array.fromAsync(archive.store.reader.list<Uint8Array>({ prefix }));
  assert(row !== undefined);
  // The first entry claims a position that the row cannot hold.
  const value = row.value.with(2, 0x80);
  await archive.store.writer.commit({ sets: [{ key: row.key, value }] });
  // Only that position is due; then all runs are.
  archive.nowMs = NOON + 7 * DAY_MS;
  assertEquals(await archive.sweep(), EMPTY_SWEEP);
  archive.nowMs += 50;
  assertEquals(await archive.sweep(), { ...EMPTY_SWEEP, payloads: 50, events: 50 });
});

TempStore.test("delete a run: the runs that share its rows stay, in whichever order they are deleted", async (temp) => {
  const archive = new RetentionHarness(temp.store);
  const team = await archive.addTeam("free");
  await store(archive, team, 12);
  const remaining = new Set(numbers(0, 12));
  for (const n of [5, 0, 11, 6, 4, 1, 10, 2, 3, 7, 9, 8]) {
    await archive.deletions.deleteRun(team, run(n), "key");
    remaining.delete(n);
    assertEquals(await entriesOf(temp, customerOrder(team)), [...remaining]);
    await assertClean(temp.store);
  }
  assertEquals(await temp.keysBelow(["block"]), []);
});

TempStore.test("delete a customer: runs that share rows are deleted once, also by the next process", async (temp) => {
  const archive = new RetentionHarness(temp.store);
  const team = await archive.addTeam("business");
  for (let n = 0; n < RUNS; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  const { job } = await archive.deletions.deleteCustomer(team, "acme", "key");
  // These share rows with the others, and were stored after the request.
  archive.nowMs++;
  for (let n = RUNS; n < RUNS + 5; n++) await aRunNow(archive, team, n, { customerId: "acme" });
  await archive.pipeline.project(team.id, numbers(0, RUNS + 5).map(run));
  await archive.work();
  // Entries of runs that do not exist.
  const order = customerOrder(team);
  const stray = [500, 501].map((n) => (
    { order, at: NOON, run: run(n), value: Uint8Array.of(1), mayShare: true }
  ));
  const { sets } = addEntries(stray, 1_000, new Set(stray.map((entry) => entry.run)));
  await temp.store.writer.commit({ sets });
  // The first step only starts the job.
  assert(await archive.stepOfDeletion());
  assert(await archive.stepOfDeletion());
  const left = (await entriesOf(temp, order)).length;
  assert(left > 5 && left < RUNS + 7, `${left} entries left`);
  await using other = await openOldLedger(temp.path);
  other.archive.nowMs = archive.nowMs;
  await other.archive.deleteAll();
  const done = await archive.deletions.get(team, job.id);
  assertEquals([done?.state, done?.runs, done?.events, done?.failed], ["done", RUNS, RUNS, 0]);
  assertEquals(await entriesOf(temp, order), numbers(RUNS, RUNS + 5));
  await assertClean(temp.store);
});
