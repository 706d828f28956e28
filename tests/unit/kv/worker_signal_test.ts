/** Worker signal: commits with marks wake the worker of their process, and no message is stored. */
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import type { Store } from "../../../kv/store.ts";
import { Memory } from "../../../runtime/memory.ts";
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../../kv/open.ts";
import { openBell, WorkerSignal } from "../../../kv/writer/writer.ts";
import { finish, run, runsOf } from "../../support/builders/stored_runs.ts";
import { inFolder, TempStore } from "../../support/harness/temp_store.ts";
import { WorkerHarness } from "../../support/harness/worker_harness.ts";

/** Five times the second of R42 within which a finish is final, for a busy machine. */
const FINAL_MS_MAX = 5_000;

/** Writes, each with the number of times that it wakes the worker of its process. */
const WRITES: Record<string, readonly [write: (store: Store) => Promise<unknown>, wakes: number]> =
  {
    "a commit that changes a run wakes this process's worker immediately": [
      (store) => finish(runsOf(store), 1),
      1,
    ],
    "writes that change no run send no signal": [
      ({ writer }) => writer.commit({ sets: [{ key: ["item"], value: 1 }] }),
      0,
    ],
    "a write that lost its check sends no signal": [
      async ({ writer }) => {
        const lost = await writer.commit({
          checks: [{ key: ["item"], versionstamp: "00000000000000000001" }],
          sets: [{ key: ["item"], value: 1 }],
          pending: [{ lane: "open", name: "team run1" }],
        });
        assertEquals(lost, null);
      },
      0,
    ],
  };

for (const [name, [write, expected]] of Object.entries(WRITES)) {
  TempStore.test(`worker signal: ${name}`, async ({ store }) => {
    let wakes = 0;
    store.workerSignal.listen({ worker: { wake: () => void wakes++ } });
    await write(store);
    assertEquals([wakes, store.workerSignal.raised], [expected, expected]);
  });
}

Deno.test("worker signal: the bell wakes those that a commit left work for", () => {
  let ring = () => {};
  const bell = { ring: () => {}, listen: (wake: () => void) => void (ring = wake), close() {} };
  const signal = new WorkerSignal(bell);
  const woken: string[] = [];
  signal.listen({
    worker: { wake: () => void woken.push("worker") },
    work: { wake: () => void woken.push("work") },
  });
  const wokenBy = (raise: () => void) => {
    raise();
    woken.length = 0;
    ring();
    return [...woken];
  };
  assertEquals(wokenBy(() => signal.raise()), ["worker"]);
  assertEquals(wokenBy(() => signal.raiseWork()), ["work"]);
  assertEquals(
    wokenBy(() => {
      signal.raiseWork();
      signal.raise();
    }),
    ["work", "worker"],
  );
  assertEquals(wokenBy(() => {}), []);
});

inFolder.test("worker signal: the runtime's queue in the ledger's file, which ends the process on a full disk, is never used", async (folder) => {
  const path = `${folder}/test.kv`;
  const store = await openStore(path, new Memory(), { hasBell: true });
  for (let n = 0; n < 5; n++) await finish(runsOf(store), n);
  await store.close();
  using database = new DatabaseSync(path, { readOnly: true });
  const count = database.prepare("SELECT count(*) AS messages FROM queue").get();
  assertEquals(count?.messages, 0);
});

Deno.test("R42: a finish is final within a second by the bell alone, and the close leaves nothing", async () => {
  await using h = await WorkerHarness.open({ hasBell: true });
  const { bell } = h.store.workerSignal;
  assert(bell !== null);
  // The direct wake is switched off.
  h.store.workerSignal.listen({});
  bell.listen(() => h.worker.wake());
  h.worker.start();
  await h.worker.idle();
  await finish(h.runs, 1);
  using deadlines = new Deadlines(FINAL_MS_MAX, TIMERS);
  await deadlines.within(h.becomesFinal(run(1)), () => {
    throw new Error(`not final in ${FINAL_MS_MAX} ms`);
  });
});

Deno.test("R42: a bell that is rung often has one message, and rings again after it", async () => {
  const bell = await openBell();
  let rings = 0;
  for (let round = 1; round <= 3; round++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    bell.listen(() => {
      rings++;
      resolve();
    });
    for (let n = 0; n < 100; n++) bell.ring();
    await promise;
  }
  bell.close();
  assertEquals(rings, 3);
});
