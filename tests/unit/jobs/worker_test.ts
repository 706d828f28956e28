/** The worker on real files: priorities, durability and shutdown. */
import { assert, assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { TeamId } from "../../../domain/core/ids.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { PendingRun } from "../../../domain/runs/stages.ts";
import { keys, newRowName } from "../../../kv/base/keys.ts";
import { encodePending, pendingName } from "../../../kv/writer/group.ts";
import { finish, open, readRun, run, TEAM } from "../../support/builders/stored_runs.ts";
import { Gate, WorkerHarness } from "../../support/harness/worker_harness.ts";
import type { ProcessingStore } from "../../../kv/summaries/processing_store.ts";

Deno.test("worker: closed runs take priority over open ones that arrived earlier", async () => {
  const projected: string[] = [];
  await using shop = await WorkerHarness.open({
    wrap: (store) => ({
      ...store,
      project: (team, runs) => {
        projected.push(...runs);
        return store.project(team, runs);
      },
    }),
  });
  // One commit each, so that there are more rows than one turn reads.
  for (let n = 0; n < 10; n++) await open(shop.runs, n);
  for (let n = 20; n < 30; n++) await finish(shop.runs, n);
  shop.worker.start();
  await shop.worker.idle();
  const ids = (from: number) => Array.from({ length: 10 }, (_, i) => run(from + i));
  assertEquals(projected, [...ids(20), ...ids(0)]);
});

Deno.test("worker: a signal during its work is not lost", async () => {
  const gate = new Gate();
  let polls = 0;
  await using shop = await WorkerHarness.open({
    wrap: (store) => ({
      ...store,
      // The last read before it sleeps: it has already seen that nothing is pending.
      takePending: async (lane, runsMax) => {
        const batch = await store.takePending(lane, runsMax);
        if (lane === "open" && ++polls === 1) await gate.pass();
        return batch;
      },
    }),
  });
  shop.worker.start();
  await gate.reached();
  await finish(shop.runs, 1);
  gate.open();
  await shop.becomesFinal(run(1));
});

Deno.test("worker: idle waits for runs that became pending before the call", async () => {
  await using shop = await WorkerHarness.open();
  shop.worker.start();
  for (let n = 0; n < 30; n++) {
    await finish(shop.runs, n);
    await shop.worker.idle();
    assertEquals((await readRun(shop.runs, TEAM, run(n), null, 1))?.summary?.revision, 1);
  }
});

Deno.test("worker: stop waits for running work, and nothing starts after it", async () => {
  const gate = new Gate();
  let stopped = false;
  const order: string[] = [];
  await using shop = await WorkerHarness.open({
    wrap: (store) => ({
      ...store,
      project: async (team, runs) => {
        await gate.pass();
        await store.project(team, runs);
        order.push("projected");
      },
    }),
  });
  await finish(shop.runs, 1);
  shop.worker.start();
  await gate.reached();
  const stopping = shop.worker.stop().then(() => (stopped = true, order.push("stopped")));
  await finish(shop.runs, 2);
  assert(!stopped);
  gate.open();
  await stopping;
  assertEquals(order, ["projected", "stopped"]);
  assertEquals((await readRun(shop.runs, TEAM, run(1), null, 1))?.summary?.revision, 1);
  assertEquals((await readRun(shop.runs, TEAM, run(2), null, 1))?.summary, null);
  // Late writes are still marked; the consumed mark waits for the next update.
  assertEquals((await shop.temp.keysBelow(["dirty", "closed"])).length, 2);
});

Deno.test("worker: stop waits for all teams, even if the store failed for one", async () => {
  const gate = new Gate();
  let done = false;
  const other = { ...TEAM, id: "other" as TeamId };
  await using shop = await WorkerHarness.open({
    wrap: (store) => ({
      ...store,
      project: async (team, runs) => {
        if (team === other.id) throw new StorageUnavailable("disk I/O error");
        await gate.pass();
        await store.project(team, runs);
        done = true;
      },
    }),
  });
  await Promise.all([finish(shop.runs, 1), finish(shop.runs, 1, other)]);
  shop.worker.start();
  await gate.reached();
  const stopping = shop.worker.stop();
  gate.open();
  await stopping;
  assert(done, "it stopped while a team was under way");
});

Deno.test("worker: if the store fails the marks stay, and the worker resumes after its backoff", async () => {
  let failures = 3;
  const fail =
    <Args extends unknown[], T>(method: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> =>
      failures-- > 0 ? Promise.reject(new StorageUnavailable("disk I/O error")) : method(...args);
  for (const name of ["takePending", "project"] as const) {
    failures = 3;
    await using shop = await WorkerHarness.open({
      failurePauseMs: 1,
      wrap: (store): ProcessingStore => ({
        ...store,
        [name]: fail(store[name] as never),
        // The store fails, not a run.
        isAlive: () => Promise.resolve(failures < 0),
      }),
    });
    await finish(shop.runs, 1);
    const marks = await shop.temp.keysBelow(["dirty"]);
    shop.worker.start();
    await shop.worker.idle();
    assert(failures < 0, name);
    assertEquals((await readRun(shop.runs, TEAM, run(1), null, 1))?.summary?.revision, 1);
    assertEquals([marks.length, (await shop.temp.keysBelow(["dirty"])).length], [1, 0]);
    assertEquals(shop.log.filter((line) => line.includes("disk I/O error")).length, 3);
    // The store's failure uses up none of the run's attempts.
    assertEquals(await shop.stagesOf(run(1)), ["cost done 1", ...shop.skipped]);
  }
});

Deno.test("worker: marks whose removal failed are processed again, and nothing counts twice", async () => {
  let failures = 2;
  await using shop = await WorkerHarness.open({
    failurePauseMs: 1,
    wrap: (store) => ({
      ...store,
      takePending: async (lane, max) => {
        const { ack, ...rows } = await store.takePending(lane, max);
        return {
          ...rows,
          ack: (again) =>
            !rows.isEmpty && failures-- > 0
              ? Promise.reject(new StorageUnavailable("disk I/O error"))
              : ack(again),
        };
      },
    }),
  });
  await open(shop.runs, 1);
  await finish(shop.runs, 1);
  shop.worker.start();
  await shop.worker.idle();
  assert(failures < 0);
  assertEquals((await readRun(shop.runs, TEAM, run(1), null, 1))?.summary?.revision, 1);
  assertEquals(await shop.temp.keysBelow(["dirty"]), []);
});

/** Marks runs that are not stored, in rows of ten, like a busy team. */
async function flood(shop: WorkerHarness, runs: number, team = TEAM.id): Promise<void> {
  const rows = Array.from({ length: runs / 10 }, (_, row) => {
    const names = Array.from(
      { length: 10 },
      (_, i) => pendingName(team, run(10_000 + row * 10 + i)),
    );
    return { key: keys.pending("closed", newRowName()), value: encodePending(names) };
  });
  for (let at = 0; at < rows.length; at += 500) {
    await shop.store.writer.commit({ sets: rows.slice(at, at + 500) });
  }
}

/** Runs in the order in which the worker read them, turn by turn. */
function turnsOf(taken: PendingRun[][]) {
  return (store: ProcessingStore): ProcessingStore => ({
    ...store,
    takePending: async (lane, max) => {
      const rows = await store.takePending(lane, max);
      if (rows.runs.length > 0) taken.push([...rows.runs]);
      return rows;
    },
  });
}

Deno.test("worker: a team with 5,000 pending runs delays another team's close by at most one turn", async () => {
  const batches: PendingRun[][] = [];
  await using shop = await WorkerHarness.open({ wrap: turnsOf(batches) });
  const other = { ...TEAM, id: "other" as TeamId };
  await flood(shop, 5_000);
  await finish(shop.runs, 1, other);
  shop.worker.start();
  await shop.worker.idle();
  const turn = batches.findIndex((runs) => runs.some(({ team }) => team === other.id));
  assert(batches.length > 20, `only ${batches.length} turns`);
  assert(turn <= 1, `taken in turn ${turn}`);
  assertEquals(batches.flat().length, 5_001);
  assertEquals(await shop.temp.keysBelow(["dirty"]), []);
  assertEquals((await readRun(shop.runs, other, run(1), null, 1))?.summary?.revision, 1);
});

Deno.test("worker: endless closed runs do not starve open ones", async () => {
  const batches: PendingRun[][] = [];
  await using shop = await WorkerHarness.open({ wrap: turnsOf(batches) });
  await open(shop.runs, 1);
  await flood(shop, 2_000);
  shop.worker.start();
  await shop.worker.idle();
  const turn = batches.findIndex((runs) => runs.some((each) => each.run === run(1)));
  assert(turn > 0 && turn <= 4, `turn ${turn} of ${batches.length}`);
});

for (const [commitMs, sizes] of [[5, [196, 98, 49, 24]], [100, [196, 196, 196, 196]]] as const) {
  Deno.test(`worker: turns of 300 ms get smaller only near a store: commits take ${commitMs} ms`, async () => {
    const batches: PendingRun[][] = [];
    const { now } = performance;
    let passedMs = 0;
    performance.now = () => now.call(performance) + passedMs;
    try {
      await using shop = await WorkerHarness.open({
        wrap: (store) => ({
          ...turnsOf(batches)(store),
          commitMs: () => commitMs,
          project: async (team, runs) => {
            passedMs += 300;
            await store.project(team, runs);
          },
        }),
      });
      await flood(shop, 1_000);
      shop.worker.start();
      await shop.worker.idle();
    } finally {
      performance.now = now;
    }
    assertEquals(batches.slice(0, 4).map((runs) => runs.length), [...sizes]);
  });
}

Deno.test("worker: while calls arrive, open runs rest and closed ones do not wait for them", async () => {
  let nowMs = performance.now();
  using _clock = stub(performance, "now", () => nowMs);
  const projected: string[] = [];
  const begun = Promise.withResolvers<void>();
  const rested = Promise.withResolvers<void>();
  await using shop = await WorkerHarness.open({
    wrap: (store) => ({
      ...store,
      project: async (team, runs) => {
        projected.push(...runs);
        if (runs.includes(run(1))) {
          // A call that arrives during the turn.
          await open(shop.runs, 2);
          begun.resolve();
        }
        await store.project(team, runs);
        if (runs.includes(run(2))) rested.resolve();
      },
    }),
  });
  shop.worker.start();
  await open(shop.runs, 1);
  await begun.promise;
  for (const n of [3, 4]) {
    await finish(shop.runs, n);
    await shop.becomesFinal(run(n));
  }
  assertEquals(projected, [run(1), run(3), run(4)]);
  nowMs += 500;
  await rested.promise;
  assertEquals(projected, [run(1), run(3), run(4), run(2)]);
});

Deno.test("worker: idle does not wait for the rest of open runs", async () => {
  using _clock = stub(performance, "now", () => 0);
  const projected: string[] = [];
  await using shop = await WorkerHarness.open({
    wrap: (store) => ({
      ...store,
      project: async (team, runs) => {
        projected.push(...runs);
        if (runs.includes(run(1))) await open(shop.runs, 2);
        await store.project(team, runs);
      },
    }),
  });
  await open(shop.runs, 1);
  shop.worker.start();
  await shop.worker.idle();
  assertEquals(projected, [run(1), run(2)]);
});

Deno.test("worker: an unreadable run is deferred, and all others continue", async () => {
  let broken = true;
  let tries = 0;
  await using shop = await WorkerHarness.open({
    wrap: (store) => ({
      ...store,
      project: (team, runs) => {
        if (!broken || !runs.includes(run(7))) return store.project(team, runs);
        if (runs.length === 1) tries++;
        return Promise.reject(new StorageUnavailable("database disk image is malformed"));
      },
    }),
  });
  const revisionOf = async (n: number) =>
    (await readRun(shop.runs, TEAM, run(n), null, 1))?.summary?.revision;
  await Promise.all(Array.from({ length: 20 }, (_, n) => finish(shop.runs, n)));
  shop.start();
  await shop.idle();
  for (let n = 0; n < 20; n++) assertEquals(await revisionOf(n), n === 7 ? undefined : 1);
  // Later runs are not delayed. After three attempts the run backs off.
  await finish(shop.runs, 30);
  await shop.idle();
  assertEquals([await revisionOf(30), tries], [1, 3]);
  await shop.after(1_000);
  await shop.after(1_000);
  assertEquals(tries, 4);
  assert(shop.log.every((line) => line.includes(TEAM.id) && !line.includes("run_")));
  assertEquals(shop.log.length, 4);
  // It used up no attempts, and its mark was kept.
  broken = false;
  await shop.after(1_000);
  assertEquals(await shop.stagesOf(run(7)), ["cost done 1", ...shop.skipped]);
  assertEquals(await shop.sumsAddUp(), 21);
});
