/** Slots of searches: those of a team do not keep its other pages waiting. */
import { assert, assertEquals } from "@std/assert";
import { aHeartbeat, at, runId } from "../support/builders/requests.ts";
import { signedIn } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

const RUNS = 800;

ofInstance("searches: many at once leave a team's other reads their slots", async () => {
  await using h = await Harness.open({ tier: "enterprise" });
  for (let n = 0; n < RUNS; n += 50) {
    const group = Array.from(
      { length: 50 },
      (_, i) => aHeartbeat(n + i, { started_at: at(n + i) }),
    );
    await Promise.all(group.map((run) => h.post("/v1/heartbeats", run)));
  }
  await h.worker.idle();
  const reader = await signedIn(h);
  const answers: number[] = [];
  const first = Promise.withResolvers<void>();
  const searches = Array.from({ length: 30 }, async (_, n) => {
    const { status } = n % 2 === 0
      ? await h.get(`/v1/runs?text=nowhere${n}`)
      : await reader.get(`/dashboard/search?q=nowhere${n}`);
    answers.push(status);
    first.resolve();
  });
  await first.promise;
  const page = await reader.get(`/dashboard/runs/${runId(1)}`);
  const before = answers.filter((status) => status === 200).length;
  await Promise.all(searches);
  const found = answers.filter((status) => status === 200).length;
  assertEquals(page.status, 200);
  assert(before < found / 2, `${before} of ${found} searches came before the page`);
  // One runs and eight wait; the others are to retry.
  assertEquals(new Set(answers), new Set([200, 503]));
});
