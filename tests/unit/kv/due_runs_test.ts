/** Due runs: teams take turns, and one team's backlog hides no other team's. */
import { assert, assertEquals } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import { DueRuns } from "../../../kv/runs/run_work.ts";
import { pendingName } from "../../../kv/writer/pending_mark.ts";
import { Backoff } from "../../../runtime/backoff.ts";
import { NOON } from "../../support/harness/harness.ts";
import { run } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const [BUSY, OTHER] = ["busy", "other"] as [TeamId, TeamId];

/** Rows of a busy team, one per millisecond, followed by one of another team. */
async function fill(temp: TempStore, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => keys.dueStage(NOON + n, BUSY, run(n)));
  rows.push(keys.dueStage(NOON + count, OTHER, run(1)));
  for (let at = 0; at < rows.length; at += 500) {
    const sets = rows.slice(at, at + 500).map((key) => ({ key, value: true }));
    await temp.store.writer.commit({ sets });
  }
}

Deno.test("due runs: a team with hundreds of them does not starve another", async () => {
  for (const [count, takes] of [[400, 1], [1_200, 3]] as const) {
    await using temp = await TempStore.open();
    await fill(temp, count);
    const due = new DueRuns(temp.store, new Backoff(() => NOON), () => NOON);
    let rounds = 0;
    for (let done = false; !done; rounds++) {
      assert(rounds < takes, `not among the first ${takes} of ${count}`);
      const rows = await due.take(NOON + 10_000, 20);
      assertEquals(rows.length, 20);
      done = rows.some(({ team }) => team === OTHER);
    }
  }
});

Deno.test("due runs: deferred ones are skipped, also if they fill entire reads", async () => {
  await using temp = await TempStore.open();
  await fill(temp, 600);
  let nowMs = NOON + 10_000;
  const backoff = new Backoff(() => nowMs);
  const due = new DueRuns(temp.store, backoff, () => nowMs);
  for (let n = 0; n < 1_800; n++) backoff.add(pendingName(BUSY, run(n % 600)));
  const rows = await due.take(nowMs, 20);
  assertEquals(rows.map(({ team }) => team), [OTHER]);
  assertEquals(await due.nextDueMs(), NOON + 600);
  await temp.store.writer.commit({ deletes: [keys.dueStage(NOON + 600, OTHER, run(1))] });
  assertEquals([await due.take(nowMs, 20), await due.nextDueMs()], [[], null]);
  nowMs += 1_000;
  assertEquals((await due.take(nowMs, 20)).length, 20);
});
