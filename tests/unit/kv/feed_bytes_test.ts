/** Amount of data that a page of the change feed reads and holds in memory. */
import { assert, assertEquals } from "@std/assert";
import { rawOf } from "../../../domain/core/raw_json.ts";
import {
  CHANGES_PAGE_CHARS_MAX,
  CHANGES_PER_PAGE,
  RUN_MODELS_MAX,
} from "../../../domain/core/limits.ts";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import { createChangeStore } from "../../../kv/feed/changes.ts";
import { ChangeNotifier } from "../../../kv/summaries/team_commit.ts";
import { readScopes } from "../../../kv/base/reads.ts";
import { Follower } from "../../support/oracles/feed.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aCall, open, processAll, run, runsOf, TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

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
