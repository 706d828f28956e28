/** Tests that a repricing job survives kill -9 while clients keep sending. */
import { assert, assertEquals } from "@std/assert";
import { jobOf, jobs } from "../../assurance/crash/new_price.ts";
import { Rounds } from "../../assurance/crash/rounds.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

const RUNS = 1_000;
const PICODOLLARS = 1e12;

inFolder.test("after kill -9 in the middle of a repricing job it completes, every call counts once, and all totals are exact", async (folder) => {
  await using rounds = new Rounds(folder);
  await rounds.start();
  await rounds.fill(RUNS);
  const { calls, cost } = rounds.book.unpriced;
  await rounds.book.price.put(rounds.access);
  rounds.load();
  // The response arrives when the job is done, so the test finds the job in the list first.
  const pending = rounds.book.price.ask(rounds.access);
  let [job] = await jobs(rounds.access);
  while (job === undefined || job.progress + job.runs === 0) [job] = await jobs(rounds.access);
  await rounds.end("SIGKILL");
  await pending;
  assert(job.state === "running" && job.llm_calls < calls, JSON.stringify(job));

  await rounds.start();
  const { llm_calls, runs_failed, difference_usd } = await jobOf(rounds.access, job.id);
  // Calls after the price had it from the start, so they add nothing.
  assertEquals([runs_failed, Math.round(difference_usd * PICODOLLARS)], [0, cost]);
  assert(llm_calls >= calls, `${llm_calls} of ${calls}`);
  await rounds.audit();
});
