/** Tests that a repricing job survives kill -9 while clients keep sending. */
import { assert, assertEquals } from "@std/assert";
import { type Job, jobOf, jobs } from "../../assurance/crash/new_price.ts";
import { Rounds } from "../../assurance/crash/rounds.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

const RUNS = 1_000;
const PICODOLLARS = 1e12;

/** Maximum milliseconds until a job has repriced something; far more than one takes. */
const BEGUN_MS_MAX = 60_000;

inFolder.test("after kill -9 in the middle of a repricing job it completes, every call counts once, and all totals are exact", async (folder) => {
  await using rounds = new Rounds(folder);
  await rounds.start();
  await rounds.fill(RUNS);
  const { calls, cost } = rounds.book.unpriced;
  await rounds.book.price.put(rounds.access);
  rounds.load();
  const { job, pending } = await begunJob(rounds);
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

/**
 * Starts a job; returns it once it has repriced something. The request is answered when the job is
 * done, so an answer before that was a refusal, and the job is asked for again.
 */
async function begunJob(
  { access, book }: Rounds,
): Promise<{ readonly job: Job; readonly pending: Promise<void> }> {
  const endMs = performance.now() + BEGUN_MS_MAX;
  let pending: Promise<void> | null = null;
  for (;;) {
    pending ??= book.price.ask(access).finally(() => pending = null);
    const seen = await jobs(access).catch(String);
    const [job] = typeof seen === "string" ? [] : seen;
    if (job !== undefined && job.progress + job.runs > 0) return { job, pending };
    assert(performance.now() < endMs, `No job has begun: ${JSON.stringify(seen)}`);
  }
}
