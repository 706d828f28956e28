/** Deletions of runs, and writes of another process before the commit that removes a run. */
import { agentStoreOf } from "../../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import { EMPTY_SWEEP } from "../../../domain/retention/retention.ts";
import { keys } from "../../../kv/base/keys.ts";
import { aLargeCall, DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aRunNow, openOldLedger } from "../../support/builders/old_ledger.ts";
import { aCall, finish, open, readRun, run } from "../../support/builders/stored_runs.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import type { RunPage } from "../../../domain/runs/event_page.ts";
import { Memory } from "../../../runtime/memory.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { openStore } from "../../../kv/open.ts";
import { pendingName } from "../../../kv/writer/group.ts";
import { inFolder, TempStore } from "../../support/harness/temp_store.ts";

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

/** A call of run 1, and a check that it is stored. */
interface Late {
  readonly send: (runs: RunStore, team: Team) => Promise<{ readonly kind: string }>;
  readonly isIn: (page: RunPage) => boolean;
}

const EVENTS: Late = {
  send: (runs, team) => runs.append(team, run(1), [aCall(77)], NOON + 40 * DAY_MS),
  isIn: ({ events }) => events.some(({ id }) => id === aCall(77).id),
};
const FINISH: Late = {
  send: (runs, team) =>
    runs.finish(team, run(1), { status: "failed", finishedAt: NOON }, NOON + 40 * DAY_MS),
  isIn: ({ parts }) => parts.closing?.status === "failed",
};
const OPENING: Late = {
  send: (runs, team) =>
    runs.open(team, { id: run(1), agent: "late", startedAt: NOON }, NOON + 40 * DAY_MS),
  isIn: ({ parts }) => parts.opening?.agent === "late",
};

/** The initial state of run 1, and the call that races with the removal. */
const CASES: Record<string, readonly [parts: readonly ("open" | "events" | "finish")[], Late]> = {
  "events of a run with events": [["open", "events"], EVENTS],
  "events of a run without any": [["open", "finish"], EVENTS],
  "the close of an open run": [["open", "events"], FINISH],
  "the opening of what has none": [["events", "finish"], OPENING],
  "events of what has no opening": [["finish"], EVENTS],
};

/** The removal in another process, days later. */
const REMOVALS: Record<
  string,
  readonly [days: number, (other: RetentionHarness, team: Team) => unknown]
> = {
  "a sweep of its payload": [8, (other) => other.sweep()],
  "a sweep of its record": [31, (other) => other.sweep()],
  "its deletion": [1, (other, team) => other.deletions.deleteRun(team, run(1), "key")],
};

/** Runs a hook before each commit of a retention harness. */
function beforeCommits({ store: { writer } }: RetentionHarness, happen: () => unknown): void {
  const commit = writer.commit.bind(writer);
  writer.commit = async (write) => {
    await happen();
    return await commit(write);
  };
}

/** Runs a hook before the first commit of a retention harness. */
function beforeCommit(h: RetentionHarness, happen: () => Promise<unknown>): void {
  let isFirst = true;
  beforeCommits(h, () => {
    if (!isFirst) return;
    isFirst = false;
    return happen();
  });
}

for (const [removal, [days, remove]] of Object.entries(REMOVALS)) {
  Deno.test(`retention: ${removal} loses no call that another process acknowledges meanwhile`, async () => {
    for (const [name, [parts, late]] of Object.entries(CASES)) {
      await using temp = await TempStore.open();
      const archive = new RetentionHarness(temp.store);
      const team = await archive.addTeam("free");
      const { runs } = archive;
      if (parts.includes("open")) await open(runs, 1, { goal: "g" }, team);
      if (parts.includes("events")) await runs.append(team, run(1), [aCall(1)], NOON);
      if (parts.includes("finish")) await finish(runs, 1, team);
      await archive.work();
      await using other = await openOldLedger(temp.path);
      other.archive.nowMs = archive.nowMs = NOON + days * DAY_MS;
      let stored = false;
      beforeCommit(other.archive, async () => {
        stored = (await late.send(runs, team)).kind === "stored";
      });
      await remove(other.archive, team);
      assert(stored, `${name}: nothing came in between`);
      const page = await readRun(runs, team, run(1), null, 9);
      // A deletion also removes everything acknowledged before it.
      const isDeleted = removal === "its deletion";
      assertEquals(page === null ? null : late.isIn(page), isDeleted ? null : true, name);
      await archive.work();
      await assertClean(temp.store, name);
    }
  });
}

inFolder.test("retention: on a shared KV a removal locks only the runs of its next commit", async (folder) => {
  const opened = await openStore(`${folder}/test.kv`, new Memory());
  const store = { ...opened, limits: BACK_ENDS.remote };
  const h = new RetentionHarness(store);
  const team = await h.addTeam("free");
  const ids = Array.from({ length: 8 }, (_, n) => run(n));
  for (const n of ids.keys()) {
    await open(h.runs, n, {}, team);
    await finish(h.runs, n, team);
  }
  await h.work();
  const waiting: Promise<void>[] = [];
  const isLocked = (id: typeof ids[number]) => {
    let isFree = false;
    // A free lock is taken at once.
    const taken = () => Promise.resolve(void (isFree = true));
    waiting.push(store.runLocks.take(pendingName(team.id, id), taken));
    return !isFree;
  };
  let lockedMax = 0;
  beforeCommits(h, () => lockedMax = Math.max(lockedMax, ids.filter(isLocked).length));
  h.nowMs += 31 * DAY_MS;
  assertEquals((await h.sweep()).records, ids.length);
  await Promise.all(waiting);
  // A removal checks three rows of its run, and a commit has nine checks.
  assertEquals(lockedMax, 2);
  await store.close();
});
