/**
 * Tests irregular clocks, broken clients, malformed work rows and two processes; `deno task assure
 * chaos` has more faults.
 */
import { clockAndNotices, clockAndRate, clockMoves, CLOCKS } from "../../assurance/chaos/clock.ts";
import { reset } from "../../assurance/chaos/connections.ts";
import { jobsTwiceAndPoisoned } from "../../assurance/chaos/jobs.ts";
import { twoProcesses } from "../../assurance/chaos/processes.ts";

for (const [name, times] of Object.entries(CLOCKS)) {
  Deno.test(`clock ${name}: counts, days, ids and the integrity check are exact, nothing is lost or duplicated`, async () => {
    await clockMoves(times);
  });
}

Deno.test("clock jumps do not fill the bucket of a team's request rate", async () => {
  await clockAndRate();
});

Deno.test("clock jumps in, after and before a month send its notice once", async () => {
  await clockAndNotices();
});

Deno.test("connections reset in and after a body: stored completely or not at all, and counted once", async () => {
  await reset();
});

Deno.test("worker: two kills, malformed work rows and a poisoned run do not delay other runs", async () => {
  await jobsTwiceAndPoisoned();
});

Deno.test("two processes on one file without its lock: the first refuses, and the same calls are counted once", async () => {
  await twoProcesses();
});
