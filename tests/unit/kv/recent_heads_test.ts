/**
 * Heads in memory after evictions, faults and restarts: summaries and roll-ups equal what is
 * stored.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { ScoreId } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import { createScoreStore } from "../../../kv/runs/scores.ts";
import { assertSumsAddUp, finish, open, run, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { append, beat, costOf, HookedProcess } from "../../support/harness/hooked_process.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { Gate } from "../../support/harness/worker_harness.ts";

HookedProcess.test("recent heads: an ordinary run is summarized without a read of its rows", async (process) => {
  const { reads } = process;
  await open(process.runs, 1);
  await append(process, 1, 1, 2);
  await process.work();
  await append(process, 1, 3);
  await finish(process.runs, 1);
  await beat(process, 2);
  await process.work();
  assertEquals(process.reads, reads);
  await process.assertExact({
    1: ["success", 1, 3, costOf(1, 2, 3)],
    2: ["success", 1, 0, 0],
  });
});

TempStore.test("recent heads: a part whose head was evicted is read", async (temp) => {
  // Space for about 20 heads.
  const process = await HookedProcess.ready(temp.store, 1);
  await append(process, 1, 1);
  for (let n = 100; n < 150; n++) await append(process, n, 2);
  await open(process.runs, 1);
  await finish(process.runs, 1);
  await process.assertExact({ 1: ["success", 1, 1, costOf(1)] });
});

for (const isStored of [true, false]) {
  const when = isStored ? "after" : "before";
  TempStore.test(`recent heads: a head is evicted ${when} its commit is stored`, async (temp) => {
    const process = await HookedProcess.ready(temp.store, 1);
    // A call with a new agent would make the others wait.
    await beat(process, 2);
    const gate = new Gate();
    process.once(async (write, commit) => {
      if (!isStored) await gate.pass();
      const version = await commit(write);
      if (isStored) await gate.pass();
      return version;
    });
    const opening = open(process.runs, 1);
    await gate.reached();
    for (let n = 100; n < 150; n++) await beat(process, n);
    await process.work();
    await append(process, 1, 1);
    gate.open();
    await opening;
    await process.assertExact({ 1: ["running", 0, 1, costOf(1)] });
  });
}

HookedProcess.test("recent heads: parts that an earlier process stored are read, in either lane", async (earlier) => {
  await append(earlier, 1, 1);
  await finish(earlier.runs, 2);
  const process = new HookedProcess(earlier.store);
  // Both lanes have been read, and neither is up to date.
  for (const lane of ["open", "closed"] as const) await process.pipeline.takePending(lane, 10);
  await open(process.runs, 1);
  await open(process.runs, 2);
  await process.pipeline.project(TEAM.id, [run(1), run(2)]);
  await process.assertExact({ 1: ["running", 0, 1, costOf(1)], 2: ["success", 1, 0, 0] });
});

HookedProcess.test("recent heads: an earlier process had a clock that was ahead", async (earlier) => {
  await append(earlier, 1, 1);
  const [mark] = await earlier.keysBelow(keys.pendingLane("open"));
  assert(mark !== undefined);
  const { value } = await earlier.store.reader.get(mark);
  const future = keys.pending("open", `7${"Z".repeat(25)}`);
  await earlier.store.writer.commit({ deletes: [mark], sets: [{ key: future, value }] });

  const process = new HookedProcess(earlier.store);
  const batch = await process.pipeline.takePending("open", 10);
  // The run fails for now, so its mark stays.
  await batch.ack(batch.runs);
  process.once(() => Promise.reject(new StorageUnavailable("no outcome")));
  await assertRejects(() => beat(process, 2));
  await open(process.runs, 1);
  await process.pipeline.takePending("closed", 10);
  await process.pipeline.project(TEAM.id, [run(1)]);
  await process.assertExact({ 1: ["running", 0, 1, costOf(1)] });
});

const SCORE = { id: "score" as ScoreId, name: "quality", value: 1, source: "api" };

const PARTS: Record<string, (process: HookedProcess) => Promise<unknown>> = {
  opening: ({ runs }) => open(runs, 1),
  events: (process) => append(process, 1, 1),
  close: ({ runs }) => finish(runs, 1),
  score: ({ store }) => createScoreStore(store).add(TEAM, run(1), SCORE, NOON),
};

for (const [part, send] of Object.entries(PARTS)) {
  for (const isStored of [false, true]) {
    HookedProcess.test(`recent heads: ${part} without an outcome, ${isStored ? "" : "not "}stored`, async (process) => {
      process.once(async (write, commit) => {
        if (isStored) await commit(write);
        throw new StorageUnavailable("no outcome");
      });
      await assertRejects(() => send(process));
      const others = Object.entries(PARTS).filter(([name]) => name !== part);
      for (const [, sendOther] of others) await sendOther(process);
      await process.work();
      await assertSumsAddUp(process.store);
      await send(process);
      await process.work();
      await assertSumsAddUp(process.store);
      assertEquals((await process.summaries([1]))[1]?.[0], "success");
      assertEquals((await process.summaries([1]))[1]?.[3], costOf(1));
    });
  }
}
