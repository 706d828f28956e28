/**
 * A batch is atomic at every size (R36): its slices are staged, and one commit makes all of them
 * events of the run.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { PagedEvent } from "../../../domain/runs/event_page.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { STAGED_MS_MAX } from "../../../domain/retention/retention.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { keys } from "../../../kv/base/keys.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { openOldLedger } from "../../support/builders/old_ledger.ts";
import { aCall, open, readRun, run, runsOf } from "../../support/builders/stored_runs.ts";
import { cardOf, rateRow } from "../../support/builders/cards.ts";
import type { Fault } from "../../support/fakes/fault_kv.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aLargeCall, DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { runStoreOf } from "../../support/harness/stores.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { assertClean, strayRows } from "../../support/oracles/stray_rows.ts";

/** Calls of about 220 KB that compress badly: 2.6 MB together. */
const BATCH = Array.from({ length: 12 }, (_, n) => aLargeCall(n, 3));

const ALL = { kind: "stored", accepted: BATCH.length, duplicates: 0 } as const;
const AGAIN = { kind: "stored", accepted: 0, duplicates: BATCH.length } as const;

/** A store with a team, and the jobs of one process. */
async function openWorld() {
  const temp = await TempStore.open();
  const world = new RetentionHarness(temp.store);
  const team = await world.addTeam("business");
  return { temp, world, team, [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose]() };
}

/** Sends a batch; returns the outcome without the cost of the run. */
async function send(runs: RunStore, team: Team, batch: readonly RunEvent[] = BATCH) {
  const { cost: _, ...outcome } = { cost: 0n, ...await runs.append(team, run(1), batch, NOON) };
  return outcome;
}

/** Reads the events of the run: one state of it, in several pages. */
async function readEvents(runs: RunStore, team: Team): Promise<PagedEvent[]> {
  const events: PagedEvent[] = [];
  for (let after = null;;) {
    const page = await readRun(runs, team, run(1), after, 100);
    events.push(...page?.events ?? []);
    after = page?.next ?? null;
    if (after === null) return events;
  }
}

/** Returns the numbers of the stored events; payloads of the batch must be as sent. */
async function storedEvents(runs: RunStore, team: Team): Promise<number[]> {
  return (await readEvents(runs, team)).map(({ id, data }) => {
    const at = BATCH.findIndex((event) => event.id === id);
    if (at >= 0) assert(data === BATCH[at]?.data, `${id} is damaged`);
    return at;
  });
}

const ALL_NUMBERS = BATCH.map((_, n) => n);

/** Runs a hook after each commit of a process, with its number; returns the number of commits. */
function afterCommits({ store: { writer } }: RetentionHarness, happen: (n: number) => unknown) {
  const commit = writer.commit.bind(writer);
  const counter = { commits: 0 };
  writer.commit = async (write) => {
    const version = await commit(write);
    await happen(++counter.commits);
    return version;
  };
  return counter;
}

Deno.test("large batch: until its last commit readers see none of it, then all", async () => {
  await using h = await openWorld();
  const other = runsOf(h.temp.store);
  const seen: number[] = [];
  const counter = afterCommits(h.world, async () => {
    seen.push((await storedEvents(other, h.team)).length);
  });
  assertEquals(await send(h.world.runs, h.team), ALL);
  const chunks = await h.temp.keysBelow(keys.chunks(h.team.id, run(1)));
  assert(chunks.length > 20, `${chunks.length} chunks`);
  assertEquals(counter.commits, Math.ceil(chunks.length / 10) + 1);
  assertEquals(seen, [...Array(counter.commits - 1).fill(0), BATCH.length]);
  assert((await h.temp.keysBelow(keys.events(h.team.id, run(1)))).length > 1, "one stored batch");
  await h.world.work();
  const next = new RetentionHarness(await h.temp.reopen());
  const again = afterCommits(next, () => {});
  assertEquals([await send(next.runs, h.team), again.commits], [AGAIN, 0]);
  assertEquals(await h.temp.keysBelow(keys.allStaged()), []);
  await assertClean(h.temp.store);
});

Deno.test("large batch: a small batch needs no staging, and one that compresses well neither", async () => {
  await using h = await openWorld();
  const counter = afterCommits(h.world, () => {});
  const plain = BATCH.map((event, n): RunEvent => {
    const data = event.data.replace(/"text":".*"/, `"text":"${"x".repeat(500_000)}"`);
    return { ...event, id: aCall(100 + n).id, data: data as RunEvent["data"] };
  });
  assertEquals((await send(h.world.runs, h.team, [aCall(1)])).kind, "stored");
  assertEquals(counter.commits, 1);
  assertEquals(await send(h.world.runs, h.team, plain), ALL);
  assertEquals(counter.commits, 2);
  const read = await readEvents(h.world.runs, h.team);
  const isSame = (event: RunEvent) => read.find(({ id }) => id === event.id)?.data === event.data;
  assertEquals([read.length, plain.every(isSame)], [1 + plain.length, true]);
  await h.world.work();
  await assertClean(h.temp.store);
});

Deno.test("large batch: whichever of its commits fails in whichever way, it is stored completely or not, and a retry completes it", async () => {
  await using undisturbed = await openWorld();
  const { commits } = afterCommits(undisturbed.world, () => {});
  const counter = afterCommits(undisturbed.world, () => {});
  await send(undisturbed.world.runs, undisturbed.team);
  assert(commits === 0 && counter.commits > 4, `${counter.commits} commits`);
  for (const fault of ["throw", "commit then throw", "lost"] as const) {
    for (let at = 1; at <= counter.commits; at++) {
      const what = `commit ${at} of ${counter.commits}: ${fault}`;
      await using h = await openWorld();
      let commits = 0;
      const next = (): Fault => ++commits === at ? fault : "none";
      await using failing = await openOldLedger(h.temp.path, next);
      const outcome = await send(failing.archive.runs, h.team).catch((error) => {
        assert(error instanceof StorageUnavailable, String(error));
        return null;
      });
      const isLast = at === counter.commits;
      const isStored = fault === "lost" || fault === "commit then throw" && isLast;
      assertEquals(outcome, fault === "lost" ? ALL : null, what);
      const events = await storedEvents(h.world.runs, h.team);
      assertEquals(events, isStored ? ALL_NUMBERS : [], what);
      // A first commit whose answer was lost leaves what it staged: no later one knows of it.
      const staged = await h.temp.keysBelow(keys.allStaged());
      assertEquals(staged.length, fault === "commit then throw" && at === 1 ? 1 : 0, what);
      assertEquals(await send(failing.archive.runs, h.team), isStored ? AGAIN : ALL, what);
      assertEquals(await storedEvents(h.world.runs, h.team), ALL_NUMBERS, what);
      await h.world.work();
      await assertClean(h.temp.store, what);
      await h.world.sweeps.resume(NOON + STAGED_MS_MAX + 1);
      assertEquals(await h.temp.keysBelow(keys.allStaged()), [], what);
      assertEquals(await storedEvents(h.world.runs, h.team), ALL_NUMBERS, what);
      await assertClean(h.temp.store, what);
    }
  }
});

Deno.test("large batch: what a killed process staged is no difference, and is removed by its age", async () => {
  await using h = await openWorld();
  let commits = 0;
  await using killed = await openOldLedger(h.temp.path, () => ++commits > 3 ? "throw" : "none");
  await assertRejects(() => send(killed.archive.runs, h.team), StorageUnavailable);
  const chunks = await h.temp.keysBelow(keys.allChunks());
  assertEquals([chunks.length, (await h.temp.keysBelow(keys.allStaged())).length], [30, 1]);
  assertEquals(await readRun(h.world.runs, h.team, run(1), null, 9), null);
  await assertClean(h.temp.store);
  // It may still be written.
  await h.world.sweeps.resume(NOON + STAGED_MS_MAX);
  assertEquals(await h.temp.keysBelow(keys.allChunks()), chunks);
  const job = h.world.job();
  await h.world.sweeps.startClock(NOON - DAY_MS);
  h.world.nowMs = NOON + STAGED_MS_MAX + 1;
  assert(await job.sweepIfDue() !== null);
  assertEquals(await h.temp.keysBelow(keys.allChunks()), []);
  assertEquals(await h.temp.keysBelow(keys.allStaged()), []);
});

Deno.test("large batch: verify finds chunks that nothing names, and staged ones that a sweep left", async () => {
  await using h = await openWorld();
  await send(h.world.runs, h.team);
  await h.world.work();
  const { writer } = h.temp.store;
  const left = { key: keys.chunk(h.team.id, run(2), "left", 0), value: new Uint8Array(9) };
  await writer.commit({ sets: [left] });
  const find = async () => {
    const { differences } = await verifyStore(h.temp.store, { pauseMs: 0 });
    return differences.map(({ what, team }) => [what, team === h.team.id]);
  };
  assertEquals(await find(), [[`chunks left of ${run(2)}`, true]]);
  const mark = keys.staged(h.team.id, run(2), "mark");
  await writer.commit({ sets: [{ key: mark, value: { at: NOON, blobs: [["left", 1]] } }] });
  assertEquals(await find(), []);
  // A sweep that had worked would have removed it.
  await h.world.sweeps.startClock(NOON);
  h.world.nowMs = NOON + DAY_MS + 1;
  const resume = () => Promise.resolve();
  assert(await h.world.job({ ...h.world.sweeps, resume }).sweepIfDue() !== null);
  assertEquals(await find(), [[`staged chunks of ${run(2)}`, true]]);
  await h.world.sweeps.resume(h.world.nowMs);
  assertEquals(await find(), []);
});

Deno.test("large batch: two clients that send it at once store it once, in one process and in two", async () => {
  for (const isOne of [true, false]) {
    await using h = await openWorld();
    const { runs } = h.world;
    await using process = await openOldLedger(h.temp.path);
    const other = isOne ? runs : process.archive.runs;
    const outcomes = await Promise.all([send(runs, h.team), send(other, h.team)]);
    const accepted = outcomes.map((outcome) => outcome.kind === "stored" && outcome.accepted);
    assertEquals(accepted.sort(), [0, BATCH.length]);
    assertEquals(await storedEvents(runs, h.team), ALL_NUMBERS);
    await h.world.work();
    assertEquals(await h.temp.keysBelow(keys.allStaged()), []);
    await assertClean(h.temp.store);
  }
});

Deno.test("large batch: while it is staged, other calls of its run are stored", async () => {
  await using h = await openWorld();
  const outcomes: string[] = [];
  afterCommits(h.world, async (n) => {
    // Without its lock: with it, the small batch would wait for the large one, and that for this.
    if (n === 2) outcomes.push((await send(h.world.runs, h.team, [aCall(100)])).kind);
  });
  assertEquals(await send(h.world.runs, h.team), ALL);
  assertEquals(outcomes, ["stored"]);
  assertEquals((await storedEvents(h.world.runs, h.team)).length, 1 + BATCH.length);
});

Deno.test("large batch: it is staged once, however often another process adds to its run meanwhile", async () => {
  await using h = await openWorld();
  await using process = await openOldLedger(h.temp.path);
  const outcomes: Awaited<ReturnType<typeof send>>[] = [];
  const { writer } = process.archive.store;
  const commit = writer.commit.bind(writer);
  let commits = 0;
  writer.commit = async (write) => {
    // After four commits that stage it, the last one is lost six times.
    if (++commits <= 10) outcomes.push(await send(h.world.runs, h.team, [aCall(100 + commits)]));
    return await commit(write);
  };
  assertEquals(await send(process.archive.runs, h.team), ALL);
  assertEquals(outcomes.map(({ kind }) => kind), Array(10).fill("stored"));
  assertEquals(commits, 11);
  assertEquals((await storedEvents(h.world.runs, h.team)).length, 12 + outcomes.length);
  await h.world.work();
  assertEquals(await h.temp.keysBelow(keys.allStaged()), []);
  await assertClean(h.temp.store);
});

Deno.test("large batch: a price that changes while it is staged is the price of all its calls", async () => {
  await using h = await openWorld();
  let card = cardOf(rateRow("known", 3, 5));
  const runs = runStoreOf(h.temp.store, { card: () => card });
  afterCommits(h.world, (n) => {
    if (n === 2) card = cardOf(rateRow("known", 300, 500));
  });
  assertEquals(await send(runs, h.team), ALL);
  const costs = (await readEvents(runs, h.team)).map(({ cost }) => cost);
  assertEquals(costs, ALL_NUMBERS.map((tokens) => BigInt(300 * tokens + 500)));
  await h.world.work();
  assertEquals(await h.temp.keysBelow(keys.allStaged()), []);
  await assertClean(h.temp.store);
});

/** Changes of the run while the batch is staged, each with the events that are left. */
const CHANGES: Record<
  string,
  readonly [change: (other: RetentionHarness, team: Team) => Promise<unknown>, left: number | null]
> = {
  "its deletion": [
    (other, team) => other.deletions.deleteRun(team, run(1), "key"),
    null,
  ],
  "the sweep of its record": [
    (other) => {
      other.nowMs = NOON + 500 * DAY_MS;
      // What is staged would be as old as the record.
      other.sweeps.resume = () => Promise.resolve();
      return other.sweep();
    },
    BATCH.length,
  ],
  "a sweep whose clock is ahead": [
    (other) => other.sweeps.resume(NOON + DAY_MS),
    BATCH.length,
  ],
};

for (const [name, [change, left]] of Object.entries(CHANGES)) {
  Deno.test(`large batch: ${name} while it is staged leaves no event without its payload`, async () => {
    // After its second commit, and after the last one that stages.
    for (const at of [2, 4]) {
      await using h = await openWorld();
      await open(h.world.runs, 1, {}, h.team);
      await h.world.work();
      const other = new RetentionHarness(h.temp.store);
      await using sender = await openOldLedger(h.temp.path);
      let changed = false;
      const counter = afterCommits(sender.archive, async (n) => {
        if (n !== at) return;
        await change(other, h.team);
        changed = true;
      });
      const outcome = await send(sender.archive.runs, h.team);
      assert(changed && counter.commits > 4);
      assertEquals(outcome.kind, left === null ? "conflict" : "stored");
      assertEquals((await storedEvents(h.world.runs, h.team)).length, left ?? 0);
      await h.world.work();
      assertEquals(await strayRows(h.temp.store), []);
      assertEquals(await h.temp.keysBelow(keys.allStaged()), []);
      await assertClean(h.temp.store);
    }
  });
}
