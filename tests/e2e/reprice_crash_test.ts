/** A job that prices calls anew outlives kill -9, while clients go on sending. */
import { assert, assertEquals } from "@std/assert";
import { jobOf, jobs } from "../assurance/crash/new_price.ts";
import { Rounds } from "../assurance/crash/rounds.ts";
import { withFolder } from "../support/harness/temp_store.ts";

const RUNS = 1_000;
const PICODOLLARS = 1e12;

Deno.test("after kill -9 in the middle of a job it ends, every call counted once, and all sums are exact", async () => {
  await withFolder(async (folder) => {
    await using rounds = new Rounds(folder);
    await rounds.start();
    await rounds.fill(RUNS);
    const { calls, cost } = rounds.unpriced;
    await rounds.price.put(rounds.access);
    rounds.load();
    // The answer to the start comes only when the job is done: it is found in the list before.
    const asked = rounds.price.ask(rounds.access);
    let [job] = await jobs(rounds.access);
    while (job === undefined || job.progress + job.runs === 0) [job] = await jobs(rounds.access);
    await rounds.end("SIGKILL");
    await asked;
    assert(job.state === "running" && job.llm_calls < calls, JSON.stringify(job));

    await rounds.start();
    const { llm_calls, runs_failed, difference_usd } = await jobOf(rounds.access, job.id);
    // Calls that came after the price had it from the start: they add nothing.
    assertEquals([runs_failed, Math.round(difference_usd * PICODOLLARS)], [0, cost]);
    assert(llm_calls >= calls, `${llm_calls} of ${calls}`);
    await rounds.audit();
  });
});
