/** Odd clocks, broken clients, rubbish for the worker, two processes: more in `deno task assure chaos`. */
import { clockAndNotices, clockAndRate, clockMoves, CLOCKS } from "../assurance/chaos/clock.ts";
import { reset } from "../assurance/chaos/connections.ts";
import { jobsTwiceAndPoisoned } from "../assurance/chaos/jobs.ts";
import { twoProcesses } from "../assurance/chaos/processes.ts";

for (const [way, times] of Object.entries(CLOCKS)) {
  Deno.test(`clock ${way}: counts, days, ids and the audit are exact, nothing is lost or twice`, async () => {
    await clockMoves(times);
  });
}

Deno.test("clock jumps do not fill the bucket of a team's request rate", async () => {
  await clockAndRate();
});

Deno.test("clock jumps in, behind and before a month send its notice once", async () => {
  await clockAndNotices();
});

Deno.test("connections reset in and behind a body: stored whole or not at all, and counted once", async () => {
  await reset();
});

Deno.test("worker: two kills, rubbish marks and a poisoned run do not keep the others waiting", async () => {
  await jobsTwiceAndPoisoned();
});

Deno.test("two processes on one file, the lock taken away: the first refuses, and the same calls are counted once", async () => {
  await twoProcesses();
});
