/** Writes of another process between the check of a run and the commit that removes it. */
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { RunPage } from "../../../domain/runs/event_page.ts";
import { Memory } from "../../../runtime/memory.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { openStore } from "../../../kv/open.ts";
import { pendingName } from "../../../kv/writer/group.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { NOON } from "../../support/harness/harness.ts";
import { openOldLedger } from "../../support/builders/old_ledger.ts";
import { aCall, finish, open, readRun, run } from "../../support/builders/stored_runs.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { inFolder, TempStore } from "../../support/harness/temp_store.ts";

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
