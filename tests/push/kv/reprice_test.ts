/** Repricing jobs step by step: interrupted, duplicated, concurrent, and over damaged runs. */
import { addCounts } from "../../../domain/core/sums.ts";
import { storeOver } from "../../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import type { RunEvent } from "../../../domain/runs/event.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { NO_CALLS } from "../../../domain/repricing/reprice.ts";
import type { RepriceJob } from "../../../domain/repricing/reprice_job.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { readHeads } from "../../../kv/runs/heads.ts";
import { keys } from "../../../kv/base/keys.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import {
  createRepriceWork,
  type RepriceDeps,
  type RepriceStore,
} from "../../../kv/repricing/reprice_work.ts";
import { ONE_STEP, workOnce } from "../../support/harness/jobs.ts";
import { type Store } from "../../../kv/store.ts";
import { cardOf, rateRow } from "../../support/builders/cards.ts";
import { NOON } from "../../support/harness/harness.ts";
import {
  aCall,
  assertRollupsAddUp,
  assertSumsAddUp,
  finish,
  open,
  processAll,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { aSpec, cardsOf } from "../../support/builders/rate_cards.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

/** The stored price and the new price of calls: tokens in, and one token out. */
const OLD = cardOf(rateRow("known", 3, 5));
const NEW = { current: () => Promise.resolve(cardOf(rateRow("known", 7, 11))) };

const SPEC = { model: "known", provider: null, from: null, to: null };

/** A readable call: `n` names it and is its token count. */
function aReadableCall(n: number): RunEvent {
  const data = rawOf({ model: "known", input_tokens: n, output_tokens: 1 });
  return { ...aCall(n), data };
}

/** Stores closed runs, each with several batches of one call. */
async function fill(store: Store, batchesOf: readonly number[]): Promise<RunStore> {
  const runs = runsOf(store, OLD);
  await Promise.all(batchesOf.map(async (batches, n) => {
    await open(runs, n, { startedAt: NOON + n });
    for (let i = 0; i < batches; i++) await runs.append(TEAM, run(n), [aReadableCall(i)], NOON);
    await finish(runs, n);
  }));
  await processAll(store);
  return runs;
}

/** Jobs of a store whose steps the test takes. */
interface Reprices extends RepriceStore {
  /** Takes one step of a job; returns false if none can progress. */
  step(): Promise<boolean>;
}

function repricesOf(store: Store, cards: RepriceDeps["cards"] = NEW): Reprices {
  const deps = { ...ONE_STEP, store, cards, now: () => NOON };
  const { reprices, handler } = createRepriceWork(deps);
  return { ...reprices, step: async () => await workOnce(store, handler, NOON) !== null };
}

/** The same file as opened by another process. */
async function another(path: string): Promise<Disposable & { readonly store: Store }> {
  const kv = await Deno.openKv(path);
  const deadlines = new Deadlines(60_000, TIMERS);
  return {
    store: storeOver(kv, kv, BACK_ENDS.embedded, deadlines),
    [Symbol.dispose]() {
      kv.close();
      deadlines[Symbol.dispose]();
    },
  };
}

async function start(reprices: RepriceStore, dryRun = false): Promise<string> {
  return (await reprices.create(TEAM, SPEC, dryRun, "key")).job.id;
}

async function toTheEnd(reprices: Reprices): Promise<void> {
  while (await reprices.step());
}

/** A job's result without its identity. By agent and by day it is the same. */
function resultOf(job: RepriceJob | null) {
  const { state, runs, changed, failed, sum, shares } = job ?? {};
  for (const parts of [shares?.agents, shares?.days]) {
    assertEquals(parts?.reduce((all, part) => addCounts(all, part.sum), NO_CALLS), sum);
  }
  return { state, runs, changed, failed, sum };
}

/** The expected result of a job over such runs. */
function expected(batchesOf: readonly number[]) {
  const sum = { calls: 0, before: 0n, after: 0n };
  for (const batches of batchesOf) {
    for (let n = 0; n < batches; n++) {
      sum.calls++;
      sum.before += 3n * BigInt(n) + 5n;
      sum.after += 7n * BigInt(n) + 11n;
    }
  }
  const runs = batchesOf.length;
  return { state: "done" as const, runs, changed: runs, failed: 0, sum };
}

/** Many short runs and a few long ones. */
const RUNS = Array.from({ length: 200 }, (_, n) => n % 30 === 7 ? 130 : 1 + n % 3);

TempStore.test("a job interrupted between any two steps resumes and gives the same result", async (temp) => {
  await fill(temp.store, RUNS);
  const id = await start(repricesOf(temp.store));
  let steps = 0;
  let progress = 0;
  for (let more = true; more; steps++) {
    const reprices = repricesOf(await temp.reopen());
    more = await reprices.step();
    const job = await reprices.get(TEAM, id);
    assert((job?.progress ?? 0) >= progress, "progress went back");
    progress = job?.progress ?? 0;
  }
  assert(steps > 10, `only ${steps} steps`);
  assertEquals(resultOf(await repricesOf(temp.store).get(TEAM, id)), expected(RUNS));
  assertEquals(progress, 1);
  await processAll(temp.store);
  assertEquals(await assertSumsAddUp(temp.store), RUNS.length);
  const heads = await readHeads({ store: temp.store, team: TEAM.id }, RUNS.map((_, n) => run(n)));
  assertEquals(heads.map(({ summary }) => summary?.revision), RUNS.map(() => 2));
  assertEquals(await temp.keysBelow(keys.work("back")), []);
});

TempStore.test("two processes on one job count every call once", async (temp) => {
  await fill(temp.store, RUNS);
  using other = await another(temp.path);
  const workers = [repricesOf(temp.store), repricesOf(other.store)] as const;
  const id = await start(workers[0]);
  await Promise.all(workers.map(toTheEnd));
  assertEquals(resultOf(await workers[0].get(TEAM, id)), expected(RUNS));
  await Promise.all([processAll(temp.store), processAll(other.store)]);
  assertEquals(await assertSumsAddUp(temp.store), RUNS.length);
});

TempStore.test("an unreadable run is counted and skipped, and the job continues", async (temp) => {
  const batches = [1, 1, 60, 1];
  await fill(temp.store, batches);
  // One run is damaged from the start, one after the job's first step.
  const damaged = [keys.batch(TEAM.id, run(1), 0), keys.batch(TEAM.id, run(2), 55)];
  await temp.store.writer.commit({
    sets: damaged.map((key) => ({ key, value: Uint8Array.of(1, 0, 9, 9, 9) })),
  });
  const reprices = repricesOf(temp.store);
  const id = await start(reprices);
  await toTheEnd(reprices);
  const job = await reprices.get(TEAM, id);
  assertEquals([job?.state, job?.failed, job?.runs, job?.changed], ["done", 2, 3, 3]);
  assertEquals(job?.sum.calls, 52);
  // The changed part of the damaged run is aggregated too.
  await processAll(temp.store);
  await assertRollupsAddUp(temp.store);
});

TempStore.test("runs that start after the job began do not keep it from ending", async (temp) => {
  const runs = await fill(temp.store, [1, 1]);
  const reprices = repricesOf(temp.store);
  const id = await start(reprices);
  await reprices.step();
  let next = 2;
  do {
    for (let i = 0; i < 30; i++, next++) {
      await open(runs, next, { startedAt: NOON + next });
      await runs.append(TEAM, run(next), [aReadableCall(1)], NOON);
    }
    await processAll(temp.store);
    assert(next < 300, "the job runs after new runs");
  } while (await reprices.step());
  assertEquals((await reprices.get(TEAM, id))?.runs, 2);
});

/** A store that counts list reads and their maximum concurrency. */
function countingLists(temp: TempStore) {
  const counts = { lists: 0, atOnceMax: 0 };
  let atOnce = 0;
  const reader = new Proxy(temp.store.reader, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== "list") return typeof value === "function" ? value.bind(target) : value;
      return async function* (...args: Parameters<Deno.Kv["list"]>) {
        counts.lists++;
        counts.atOnceMax = Math.max(counts.atOnceMax, ++atOnce);
        try {
          yield* target.list(...args);
        } finally {
          atOnce--;
        }
      };
    },
  });
  return { counts, store: { ...temp.store, reader } as Store };
}

TempStore.test("a job for a model with 300 names reads few of them per step, one at a time", async (temp) => {
  const runs = runsOf(temp.store, OLD);
  const count = 300;
  for (let n = 0; n < count; n += 20) {
    await open(runs, n, { startedAt: NOON + n });
    const calls = Array.from({ length: 20 }, (_, i) => aCall(i, "known", `provider-${n + i}`));
    await runs.append(TEAM, run(n), calls, NOON);
  }
  await processAll(temp.store);
  const { counts, store } = countingLists(temp);
  const reprices = repricesOf(store);
  const id = await start(reprices);
  // Each name is searched in blocks and in rows of single entries.
  assert(counts.lists <= 2 * count + 20, `${counts.lists} lists to count the names`);
  let steps = 0;
  for (let more = true; more; steps++) {
    counts.lists = 0;
    more = await reprices.step();
    assert(counts.lists <= 80, `${counts.lists} lists in a step`);
  }
  assert(steps > count / 16, `only ${steps} steps`);
  assertEquals(counts.atOnceMax, 1);
  const job = await reprices.get(TEAM, id);
  assertEquals([job?.state, job?.runs, job?.sum.calls], ["done", count / 20, count]);
  await processAll(temp.store);
  await assertSumsAddUp(temp.store);
});

TempStore.test("reprice: a job uses a price that another instance has just stored", async ({ store }) => {
  await fill(store, [1]);
  const [own, others] = [cardsOf(store), cardsOf(store)];
  // The card is cached without the price.
  assertEquals((await own.card(TEAM)).find("any", "known", NOON), null);
  await others.put(TEAM, aSpec({ model: "known" }), "key");
  const reprices = repricesOf(store, own);
  const { job } = await reprices.create(TEAM, SPEC, false, "key");
  while (await reprices.step());
  await processAll(store);
  assertEquals((await reprices.get(TEAM, job.id))?.sum.after, 2n);
});
