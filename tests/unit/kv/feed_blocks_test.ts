/** Pages of the change feed over changes that share rows. */
import { assert, assertEquals } from "@std/assert";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import { keys } from "../../../kv/base/keys.ts";
import { readScopes } from "../../../kv/base/reads.ts";
import { createChangeStore } from "../../../kv/feed/changes.ts";
import { ChangeNotifier } from "../../../kv/summaries/team_commit.ts";
import { Follower } from "../../support/oracles/feed.ts";
import {
  finish,
  open,
  processAll,
  processingStoreOf,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

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
  const reader = new Proxy(store.reader, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== "list") return typeof value === "function" ? value.bind(target) : value;
      return async function* (...args: Parameters<Deno.Kv["list"]>) {
        // After the blocks and before the rows of single changes.
        if (++lists === 2) await change();
        yield* target.list(...args);
      };
    },
  });
  const follower = new Follower(TEAM.id);
  await follower.readOn({ ...store, reader }, 500);
  await follower.readOn(store);
  // Five of the nine runs changed.
  assertEquals(follower.received.map(({ number }) => number), [6, 7, 8, 9, 10, 11, 12, 13, 14]);
  assertEquals(follower.known.size, 9);
});
