/** A deleted run counts only for the quota and for its agent's last-seen time. */
import { agentStoreOf } from "../../support/harness/stores.ts";
import { assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import { EMPTY_SWEEP } from "../../../domain/retention/retention.ts";
import { keys } from "../../../kv/base/keys.ts";
import { aLargeCall, DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aRunNow } from "../../support/builders/old_ledger.ts";
import { aCall, finish, open, readRun, run } from "../../support/builders/stored_runs.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";

/** Totals of an agent's runs: runs, succeeded, and the number of the last. */
async function agentOf({ store }: RetentionHarness, team: Team, slug: string): Promise<unknown[]> {
  const activity = (await agentStoreOf(store).read(team, slug))?.activity;
  const last = activity?.lastRun?.id;
  return [activity?.runs, activity?.succeeded, last && Number(`0x${last.slice(-8)}`)];
}

RetentionHarness.test("delete a run: all its data is removed atomically, and the receipt counts it", async (archive) => {
  const team = await archive.addTeam("business");
  const { runs, deletions } = archive;
  await open(runs, 1, { customerId: "acme", goal: "g" }, team);
  await runs.append(team, run(1), [aLargeCall(1, 3), aCall(2, "new")], NOON);
  await runs.append(team, run(1), [aCall(2, "new"), aCall(3)], NOON);
  await finish(runs, 1, team);
  // Events and a close without an opening, an opening alone, a heartbeat.
  await runs.append(team, run(2), [aCall(4)], NOON);
  await finish(runs, 3, team);
  await open(runs, 4, {}, team);
  const beat = { id: run(5), agent: "b", status: "ok", reported: { cost: 7n } } as const;
  await runs.heartbeat(team, beat, NOON);
  for (const isProjected of [true, false]) {
    if (isProjected) await archive.work();
    const events = isProjected ? [3, 1] : [0, 0, 0];
    for (const [i, wanted] of events.entries()) {
      const id = run(isProjected ? i + 1 : i + 3);
      const deleted = await deletions.deleteRun(team, id, "key");
      const receipt = { run: id, deletedAt: NOON, by: "key", events: wanted };
      assertEquals(deleted, { kind: "stored", receipt });
      archive.nowMs += 1_000;
      assertEquals(await deletions.deleteRun(team, id, "other"), { kind: "replayed", receipt });
      archive.nowMs = NOON;
      assertEquals(await readRun(runs, team, id, null, 1), null);
      await archive.work();
      await assertClean(archive.store);
    }
  }
  assertEquals(await deletions.deleteRun(team, run(6), "key"), null);
  assertEquals(await archive.keysBelow(["rollup"]), []);
  const usage = await archive.store.reader.get<Deno.KvU64>(keys.usage(team.id, "2026-11"));
  assertEquals(usage.value?.value, 9n);
});

RetentionHarness.test("delete a run: events that had already expired are not on the receipt", async (archive) => {
  const team = await archive.addTeam("free");
  await open(archive.runs, 1, {}, team);
  for (let n = 0; n < 4; n++) {
    archive.nowMs = NOON + n * 5 * DAY_MS;
    await archive.runs.append(team, run(1), [aCall(n), aCall(10 + n)], archive.nowMs);
    await archive.work();
    const went = n < 2 ? 0 : 1;
    const swept = { ...EMPTY_SWEEP, payloads: went, events: 2 * went };
    assertEquals(await archive.sweep(), swept);
    await assertClean(archive.store);
  }
  assertEquals((await archive.deletions.deleteRun(team, run(1), "key"))?.receipt.events, 4);
  await assertClean(archive.store);
});

RetentionHarness.test("delete a run: its agent's last run is found again, also among expired runs", async (archive) => {
  const team = await archive.addTeam("free");
  // Run 1 expires, and started after run 2.
  await open(archive.runs, 1, { agent: "x", startedAt: NOON }, team);
  await archive.work();
  archive.nowMs += 31 * DAY_MS;
  assertEquals((await archive.sweep()).records, 1);
  await open(archive.runs, 2, { agent: "x", startedAt: NOON - DAY_MS }, team);
  for (const n of [3, 4, 5]) {
    await open(archive.runs, n, { agent: "x", startedAt: NOON + (20 + n) * DAY_MS }, team);
  }
  await finish(archive.runs, 5, team);
  await archive.work();
  assertEquals(await agentOf(archive, team, "x"), [5, 1, 5]);
  const remaining: [number, unknown[]][] = [
    [4, [4, 1, 5]],
    [5, [3, 0, 3]],
    [3, [2, 0, 1]],
    [2, [1, 0, 1]],
  ];
  for (const [n, wanted] of remaining) {
    await archive.deletions.deleteRun(team, run(n), "key");
    assertEquals(await agentOf(archive, team, "x"), wanted, `after run ${n}`);
    await assertClean(archive.store);
  }
});

RetentionHarness.test("delete a run: an agent whose runs are all deleted keeps its last-seen time, and has no last run", async (archive) => {
  const team = await archive.addTeam("team");
  for (let n = 0; n < 45; n++) await aRunNow(archive, team, n, { agent: "x", customerId: "acme" });
  await archive.work();
  await archive.deletions.deleteCustomer(team, "acme", "key");
  await archive.deleteAll();
  const agent = await agentStoreOf(archive.store).read(team, "x");
  assertEquals(agent, {
    agent: "x",
    firstSeen: NOON,
    activity: { runs: 0, succeeded: 0, failed: 0, running: 0, lastSeen: NOON, lastRun: null },
    name: null,
    notes: null,
    archived: false,
  });
  await assertClean(archive.store);
  await aRunNow(archive, team, 99, { agent: "x" });
  await archive.work();
  assertEquals(await agentOf(archive, team, "x"), [1, 1, 99]);
  await assertClean(archive.store);
});
