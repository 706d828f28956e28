/** Pages of the change feed: where they end, and how little they read. */
import { assert, assertEquals } from "@std/assert";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import { keys } from "../../../kv/base/keys.ts";
import { readScopes } from "../../../kv/base/reads.ts";
import { createChangeStore } from "../../../kv/feed/changes.ts";
import { ChangeNotifier } from "../../../kv/summaries/team_commit.ts";
import { Follower } from "../../support/oracles/feed.ts";
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
import { TempStore } from "../../support/harness/temp_store.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import {
  CHANGES_PAGE_CHARS_MAX,
  CHANGES_PER_PAGE,
  RUN_MODELS_MAX,
} from "../../../domain/core/limits.ts";
import { NOON } from "../../support/harness/harness.ts";
import { replaced } from "../../support/fakes/replaced.ts";

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
