/**
 * Heads in memory while calls race each other and the worker, and after evictions, faults and
 * restarts: summaries and roll-ups equal what is stored.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { Deadlines } from "../../../runtime/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../../domain/core/errors.ts";
import { STORAGE_DEADLINE_MS } from "../../../domain/core/limits.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { RecentHeads } from "../../../kv/recent_heads.ts";
import { assertSumsAddUp, finish, open, run, TEAM } from "../../support/builders/stored_runs.ts";
import { FakeTimers } from "../../support/fakes/fake_timers.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { NOON } from "../../support/harness/harness.ts";
import {
  append,
  beat,
  costOf,
  HookedProcess,
  throughGate,
} from "../../support/harness/hooked_process.ts";
import { storeOver } from "../../support/harness/stores.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { Gate } from "../../support/harness/worker_harness.ts";
import type { ScoreId } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import { createScoreStore } from "../../../kv/runs/scores.ts";

for (const at of ["before", "after"] as const) {
  HookedProcess.test(`recent heads: a run changes ${at} the worker stores its summary`, async (process) => {
    await open(process.runs, 1);
    await append(process, 1, 1);
    await beat(process, 2);
    await throughGate(process, at, async () => {
      await append(process, 1, 2);
      await finish(process.runs, 1);
      await append(process, 1, 3);
      await append(process, 2, 4);
    });
    await process.assertExact({
      1: ["success", 1, 3, costOf(1, 2, 3)],
      2: ["success", 2, 1, costOf(4)],
    });
  });

  HookedProcess.test(`recent heads: a close is in progress ${at} the worker stores a summary`, async (process) => {
    await open(process.runs, 1);
    const gate = new Gate();
    process.once(async (write, commit) => {
      if (at === "before") await gate.pass();
      const version = await commit(write);
      if (at === "after") await gate.pass();
      return version;
    });
    const finishing = finish(process.runs, 1);
    await gate.reached();
    await process.work();
    gate.open();
    await finishing;
    await process.assertExact({ 1: ["success", 1, 0, 0] });
  });
}

HookedProcess.test("recent heads: a commit that is in progress is waited for, so that its run is not read", async (process) => {
  await open(process.runs, 1);
  const gate = new Gate();
  process.once(async (write, commit) => {
    const version = await commit(write);
    await gate.pass();
    return version;
  });
  const finishing = finish(process.runs, 1);
  await gate.reached();
  const { heads } = process.store;
  using _end = stub(heads, "untilEnded", async (names) => {
    const ended = RecentHeads.prototype.untilEnded.call(heads, names);
    gate.open();
    await ended;
  });
  const before = process.reads;
  await process.work();
  gate.open();
  await finishing;
  assertEquals(process.reads, before);
  await process.assertExact({ 1: ["success", 1, 0, 0] });
});

HookedProcess.test("recent heads: a refused write loses no head", async (process) => {
  const { reads } = process;
  await open(process.runs, 1);
  process.once(() => Promise.reject(new Overloaded("full")));
  await assertRejects(() => append(process, 1, 1), Overloaded);
  process.once(() => Promise.reject(new Overloaded("full")));
  await assertRejects(() => open(process.runs, 2), Overloaded);
  await append(process, 1, 2);
  await process.work();
  assertEquals(process.reads, reads);
  await process.assertExact({ 1: ["running", 0, 1, costOf(2)] });
});

TempStore.test("recent heads: a locked commit is sent again and stored after its caller timed out", async (temp) => {
  const timers = new FakeTimers();
  using deadlines = new Deadlines(STORAGE_DEADLINE_MS, timers);
  const gate = new Gate();
  const faults: Fault[] = [];
  using kv = await Deno.openKv(temp.path);
  const faulty = faultKv(kv, () => faults.shift() ?? "none", () => gate.pass());
  const store = storeOver(faulty, temp.store.reader, BACK_ENDS.embedded, deadlines);
  const process = await HookedProcess.ready(store);
  await beat(process, 2);
  await process.work();
  faults.push("locked", "stall", "stall");
  const late = append(process, 1, 1);
  await untilLeft(faults, 2);
  timers.advance(STORAGE_DEADLINE_MS);
  await assertRejects(() => late, StorageUnavailable);
  // The run has a new head before the first commit is stored, with a later mark.
  const opening = open(process.runs, 1);
  await untilLeft(faults, 0);
  gate.open();
  await opening;
  await store.writer.idle();
  await process.assertExact({ 1: ["running", 0, 1, costOf(1)] });
});

/** Waits until commits have met the faults before the last `count`. */
async function untilLeft(faults: readonly Fault[], count: number): Promise<void> {
  while (faults.length > count) await nextTurn();
}

/** Lets calls reach the writer's queue. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

for (const [first, second] of [["opening", "heartbeat"], ["heartbeat", "opening"]] as const) {
  TempStore.test(`one call: after a restart, the ${second} of another agent conflicts with the stored ${first}`, async (temp) => {
    const send = (process: HookedProcess, kind: "opening" | "heartbeat", agent: string) =>
      kind === "opening"
        ? open(process.runs, 1, { agent })
        : beat(process, 1, "ok", { agent, startedAt: NOON });
    const earlier = await HookedProcess.ready(temp.store);
    assertEquals((await send(earlier, first, "a")).kind, "stored");
    const process = await HookedProcess.ready(temp.store);
    // The agents are known, so neither call reads before its first commit.
    for (const agent of ["a", "b"]) await open(process.runs, agent === "a" ? 2 : 3, { agent });
    assertEquals(await send(process, second, "b"), { kind: "conflict", field: "agent" });
    await process.work();
    assertEquals((await process.summaries([1]))[1]?.[2], 0);
  });
}

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
