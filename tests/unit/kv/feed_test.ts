/** The change feed misses and repeats nothing, whatever is written meanwhile; pages read little. */
import { SEED } from "../../support/harness/seed.ts";
import { storeOver } from "../../support/harness/stores.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { keys } from "../../../kv/base/keys.ts";
import { ALL_ENTRIES, readEntries } from "../../../kv/index/entries.ts";
import type { Store } from "../../../kv/store.ts";
import { createChangeStore } from "../../../kv/feed/changes.ts";
import { ChangeNotifier } from "../../../kv/summaries/team_commit.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { assertFollowed, Follower } from "../../support/oracles/feed.ts";
import { NOON } from "../../support/harness/harness.ts";
import {
  aCall,
  finish,
  open,
  processAll,
  processingStoreOf,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import * as fc from "fast-check";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import { readScopes } from "../../../kv/base/reads.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import {
  CHANGES_PAGE_CHARS_MAX,
  CHANGES_PER_PAGE,
  RUN_MODELS_MAX,
} from "../../../domain/core/limits.ts";
import { replaced } from "../../support/fakes/replaced.ts";

const RUNS = 6;
const IDS = Array.from({ length: RUNS }, (_, n) => run(n));

/** One step for run number `n` or for the feed. */
interface Step {
  readonly what: "open" | "events" | "finish" | "delete" | "project" | "read" | "restart";
  readonly n: number;
  readonly by: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    what: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom("open", "events", "finish", "project", "read") },
      { weight: 1, arbitrary: fc.constantFrom("delete", "restart") },
    ) as fc.Arbitrary<Step["what"]>,
    n: fc.nat(RUNS - 1),
    by: fc.nat(1),
  }),
  { minLength: 5, maxLength: 40 },
);

function twoProcesses(store: Store): [RetentionHarness, RetentionHarness] {
  return [new RetentionHarness(store), new RetentionHarness(store)];
}

/** Plays steps at full speed, with two projectors and a reader running alongside the writes. */
async function play(temp: TempStore, team: Team, all: readonly Step[]): Promise<void> {
  const follower = new Follower(team.id);
  let both = twoProcesses(temp.store);
  let inFlight: Promise<unknown>[] = [];
  let reading = Promise.resolve();
  let calls = 0;
  for (const { what, n, by } of all) {
    const archive = both[by] ?? both[0];
    const { runs } = archive;
    if (what === "open") inFlight.push(open(runs, n, {}, team));
    if (what === "finish") inFlight.push(finish(runs, n, team));
    if (what === "events") inFlight.push(runs.append(team, run(n), [aCall(++calls)], NOON));
    if (what === "delete") inFlight.push(archive.deletions.deleteRun(team, run(n), "key"));
    if (what === "project") inFlight.push(archive.pipeline.project(team.id, IDS.slice(n)));
    if (what === "read") reading = reading.then(() => follower.readOn(temp.store));
    if (what === "restart") {
      await Promise.all([...inFlight, reading]);
      inFlight = [];
      both = twoProcesses(await temp.reopen());
    }
  }
  await Promise.all([...inFlight, reading]);
  await both[0].work();
  await follower.readOn(temp.store);
  await assertFollowed(temp.store, follower, IDS);
}

TempStore.test("feed: a follower ends with the same data as the store, with two projectors and restarts", async (temp) => {
  let teams = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const team = { ...TEAM, id: `team-${teams++}` as TeamId };
      await play(temp, team, all);
    }),
    { seed: SEED, numRuns: 40 },
  );
});

Deno.test("feed: commits of unknown outcome and lost commits leave no gap and no second row", async () => {
  for (const fault of ["throw", "commit then throw", "lost"] as const) {
    using kv = await Deno.openKv(":memory:");
    using deadlines = new Deadlines(30_000, TIMERS);
    const store = storeOver(kv, kv, BACK_ENDS.embedded, deadlines);
    const plan: Fault[] = [];
    const faults = faultKv(kv, () => plan.shift() ?? "none");
    const faulty = storeOver(faults, kv, BACK_ENDS.embedded, deadlines);
    const runs = runsOf(store);
    const pipeline = processingStoreOf(faulty);
    const follower = new Follower(TEAM.id);
    for (let n = 0; n < 3; n++) {
      await open(runs, n);
      plan.push(fault);
      if (fault !== "lost") {
        await assertRejects(() => pipeline.project(TEAM.id, [run(n)]), StorageUnavailable);
      }
      await pipeline.project(TEAM.id, [run(n)]);
      await follower.readOn(store);
    }
    assertEquals(follower.received.map(({ number }) => number), [1, 2, 3], fault);
    await assertFollowed(store, follower, IDS);
  }
});

RetentionHarness.test("feed: a deletion is listed until its id is free again; an expired run leaves the feed silently", async (archive) => {
  const team = await archive.addTeam("free");
  const follower = new Follower(team.id);
  for (const n of [1, 2]) {
    await open(archive.runs, n, {}, team);
    await finish(archive.runs, n, team);
  }
  await archive.work();
  await follower.readOn(archive.store);
  archive.nowMs = NOON + DAY_MS;
  await archive.deletions.deleteRun(team, run(1), "key");
  await follower.readOn(archive.store);
  const entry = follower.known.get(run(1));
  assertEquals(entry, { kind: "deleted", number: 3, run: run(1), deletedAt: NOON + DAY_MS });
  await assertFollowed(archive.store, follower, IDS);
  const numbers = async () => {
    const order = keys.changes(team.id);
    const { entries } = await readEntries(archive.store, order, ALL_ENTRIES, { limit: 9 });
    return entries.map(({ at, run }) => [at, run]);
  };
  assertEquals(await numbers(), [[2, run(2)], [3, run(1)]]);
  archive.nowMs = NOON + 32 * DAY_MS;
  await archive.sweep();
  assertEquals(await numbers(), []);
  await assertClean(archive.store);
  // A reader at the end continues from there.
  await open(archive.runs, 3, {}, team);
  await archive.work();
  await follower.readOn(archive.store);
  assertEquals(follower.received.at(-1)?.number, 4);
});

TempStore.test("feed: a position that it has not reached is distinguished from its end", async ({ store }) => {
  const changes = createChangeStore(store, new ChangeNotifier());
  assertEquals(await changes.page(TEAM.id, 0, 10), { changes: [], next: 0, hasMore: false });
  assertEquals(await changes.page(TEAM.id, 1, 10), null);
  await open(runsOf(store), 1);
  await processAll(store);
  assertEquals((await changes.page(TEAM.id, 1, 10))?.changes, []);
  assertEquals(await changes.page(TEAM.id, 2, 10), null);
});

TempStore.test("feed: pages may end within a commit, and one near the end reads few rows", async (temp) => {
  const { store } = temp;
  const runs = runsOf(store);
  const count = 240;
  for (let n = 0; n < count; n += 4) {
    const ids = [n, n + 1, n + 2, n + 3];
    await Promise.all(ids.map((n) => open(runs, n)));
    await processingStoreOf(store).project(TEAM.id, ids.map(run));
  }
  assertEquals((await temp.keysBelow(keys.blocks(keys.changes(TEAM.id)))).length, count / 4);
  for (const limit of [1, 3, 7, 500]) {
    const follower = new Follower(TEAM.id);
    await follower.readOn(store, limit);
    const numbers = Array.from({ length: count }, (_, n) => n + 1);
    assertEquals(follower.received.map(({ number }) => number), numbers);
  }
  const changes = createChangeStore(store, new ChangeNotifier());
  const scope = new ReadScope(new AbortController().signal);
  await readScopes.run(scope, () => changes.page(TEAM.id, count - 2, 500));
  // The last two summaries, the number, and the blocks that could hold such changes.
  assert(scope.rows <= 30, `${scope.rows} rows`);
});

TempStore.test("feed: changes that are committed during a read are on a later page", async ({ store }) => {
  const runs = runsOf(store);
  for (let n = 0; n < 9; n++) await open(runs, n);
  await processAll(store);
  let lists = 0;
  const change = async () => {
    for (const group of [[0, 1, 2, 3], [4]]) {
      await Promise.all(group.map((n) => finish(runs, n)));
      await processingStoreOf(store).project(TEAM.id, group.map(run));
    }
  };
  const reader = replaced(store.reader, {
    list: async function* (...args: Parameters<Deno.Kv["list"]>) {
      // After the blocks and before the rows of single changes.
      if (++lists === 2) await change();
      yield* store.reader.list(...args);
    },
  });
  const follower = new Follower(TEAM.id);
  await follower.readOn({ ...store, reader }, 500);
  await follower.readOn(store);
  // Five of the nine runs changed.
  assertEquals(follower.received.map(({ number }) => number), [6, 7, 8, 9, 10, 11, 12, 13, 14]);
  assertEquals(follower.known.size, 9);
});

TempStore.test("feed: a page reads little of each run, however large its output is", async ({ store }) => {
  const runs = runsOf(store);
  const count = 20;
  const output = rawOf("x".repeat(500_000));
  for (let n = 0; n < count; n++) {
    await open(runs, n);
    const request = { status: "success", finishedAt: NOON, output } as const;
    await runs.finish(TEAM, run(n), request, NOON);
  }
  await processAll(store);
  const changes = createChangeStore(store, new ChangeNotifier());
  const scope = new ReadScope(new AbortController().signal);
  const readers = 20;
  const pages = await readScopes.run(
    scope,
    () =>
      Promise.all(
        Array.from({ length: readers }, () => changes.page(TEAM.id, 0, CHANGES_PER_PAGE.max)),
      ),
  );
  for (const page of pages) assertEquals(page?.changes.length, count);
  const each = scope.bytes / readers / count;
  assert(each > 0 && each < 2_000, `${each} bytes of each run`);
});

TempStore.test("feed: a page of runs with the longest names ends early, and nothing is missing", async ({ store }) => {
  const runs = runsOf(store);
  const [count, long] = [90, "\u{1F600}".repeat(250)];
  for (let n = 0; n < count; n++) {
    await open(runs, n);
    const calls = Array.from(
      { length: RUN_MODELS_MAX },
      (_, i) => aCall(n * RUN_MODELS_MAX + i, `${String(i).padStart(6)}${long}`),
    );
    await runs.append(TEAM, run(n), calls, NOON);
  }
  await processAll(store);
  const changes = createChangeStore(store, new ChangeNotifier());
  const page = await changes.page(TEAM.id, 0, CHANGES_PER_PAGE.max);
  const chars = JSON.stringify(page, (_, value) => typeof value === "bigint" ? `${value}` : value);
  assertEquals(page?.hasMore, true);
  assert(chars.length < 2 * CHANGES_PAGE_CHARS_MAX, `${chars.length} characters`);
  const few = await changes.page(TEAM.id, 0, CHANGES_PER_PAGE.max, 30_000);
  assert((few?.changes.length ?? 0) <= 3 && few?.hasMore);
  const follower = new Follower(TEAM.id);
  await follower.readOn(store, CHANGES_PER_PAGE.max);
  assertEquals(follower.known.size, count);
});
