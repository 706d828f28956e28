/** The memory of delivered changes is bounded by the number of runs, however long reads take. */
import { assert, assertEquals } from "@std/assert";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import type { LiveBatch, RunChange } from "../../../domain/feed/changes.ts";
import { LiveJob } from "../../../jobs/live_feed.ts";

/** Changes of a page, and runs of which each of the two halves of the memory knows. */
const PAGE = 50, RUNS_MAX = 2_000;

Deno.test("live feed: it remembers the changes of 4,000 runs, and a page of each half", async () => {
  // Each change is of another run, but the last one, which is of the first run.
  const last = 2 * RUNS_MAX + 2 * PAGE;
  const changeOf = (number: number): RunChange => {
    const run = `run_${number === last ? 1 : number}` as RunId;
    return { kind: "deleted", number, run, deletedAt: 0 };
  };
  let end = 0;
  const batches: LiveBatch[] = [];
  const done = Promise.withResolvers<void>();
  const job = new LiveJob({
    changes: {
      last: () => Promise.resolve(end),
      page: (_, after, limit) => {
        assertEquals(limit, PAGE);
        // Never more than the reader may lag behind.
        end = Math.min(last, after + PAGE);
        const changes = Array.from({ length: end - after }, (_, n) => changeOf(after + n + 1));
        return Promise.resolve({ changes, next: end, hasMore: end < last });
      },
      version: () => Promise.resolve(""),
      listen: () => ({ [Symbol.dispose]: () => {} }),
    },
    calls: { raised: 0 },
    now: () => 0,
    log: () => {},
  });
  using _listening = await job.listen("team" as TeamId, (batch) => {
    batches.push(batch);
    if (batch.upTo === last) done.resolve();
  });
  await done.promise;
  await job.stop();
  for (const { after, eventsAfter = after } of batches) {
    assert(after - eventsAfter <= 2 * (RUNS_MAX + PAGE), `${after - eventsAfter} changes`);
  }
  const { eventsAfter = 0, changes } = batches.at(-1)!;
  assert(eventsAfter >= RUNS_MAX);
  assertEquals(changes.at(-1)?.eventsAfter, eventsAfter);
});
