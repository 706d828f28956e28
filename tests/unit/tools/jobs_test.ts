/** `deno task jobs`: pending work, dead stages and their retry. */
import { createWorkStore, workSet } from "../../../kv/work/store.ts";
import { processingOf } from "../../support/harness/stores.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { RETRIES } from "../../../domain/work/work.ts";
import { keys } from "../../../kv/base/keys.ts";
import { jobs } from "../../../tools/jobs.ts";
import { aFinish, anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { Recorder, runTask } from "../../support/harness/tools.ts";

const FAILURE = new TypeError("the odd one");

/** A closed run whose cost failed until it was given up. */
async function killCost(h: Harness, n: number): Promise<void> {
  await h.post("/v1/runs", aRun(n));
  await h.post(`/v1/runs/${runId(n)}/finish`, aFinish());
  await h.worker.idle();
  await h.work.idle();
  const pipeline = processingOf(h.store, () => NOON);
  const run = { team: h.team.id, run: runId(n) as RunId };
  for (let i = 0; i < RETRIES.run.triesMax; i++) await pipeline.projectFailed(run, FAILURE);
}

/** Returns whether a run's cost is given up. */
async function isDead(h: Harness, n: number): Promise<boolean> {
  const key = keys.runFailure(h.team.id, runId(n) as RunId);
  return (await h.store.reader.get(key)).versionstamp !== null;
}

async function run(h: Harness, ...args: string[]) {
  const io = new Recorder();
  const code = await jobs([`--kv=${h.path}`, ...args], io, () => h.nowMs);
  return { code, text: io.lines.join("\n"), failures: io.failures };
}

Harness.test("jobs: with nothing pending and nothing dead it says so, with exit code 0", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  await h.work.idle();
  const { code, text } = await run(h);
  assertEquals(code, 0);
  assertEquals(text.split("\n"), [
    "Pending changes of closed runs: none",
    "Pending changes of open runs: none",
    "Pending stages: none",
    "No failed work.",
  ]);
});

Harness.test("jobs: pending runs are counted by lane, with the time of the oldest", async (h) => {
  await h.worker.stop();
  const beganMs = Date.now();
  await h.post("/v1/runs", aRun(1));
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  const due = keys.workRow(NOON + 1, "run", h.team.id, runId(1));
  await h.store.writer.commit({ sets: [{ key: due, value: 0 }] });
  const { code, text } = await run(h);
  assertEquals(code, 0);
  const [closed = "", open = "", stages] = text.split("\n");
  assertStringIncludes(closed, "closed runs: 1, the oldest since ");
  assertStringIncludes(open, "open runs: 2, the oldest since ");
  const sinceMs = Date.parse(open.split("since ")[1] ?? "");
  assert(sinceMs >= beganMs && sinceMs <= Date.now(), open);
  assertEquals(stages, "Pending stages: 1, the oldest due 2026-11-21T12:00:00.001Z");
});

Harness.test("jobs: a dead stage is listed with its error and advice, with exit code 1", async (h) => {
  await killCost(h, 1);
  const { code, text } = await run(h);
  assertEquals(code, 1);
  assertStringIncludes(text, `${runId(1)} of ${h.team.id}: cost, 8 tries, dead`);
  assertStringIncludes(text, "TypeError: the odd one");
  assertStringIncludes(text, "1 dead: fix the cause, then run deno task jobs --redrive=RUN_ID");
});

Harness.test("jobs: work of every kind that is tried again is listed with its next try", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  await h.work.stop();
  const run1 = { team: h.team.id, run: runId(1) as RunId };
  await processingOf(h.store, () => NOON).projectFailed(run1, FAILURE);
  const queue = createWorkStore(h.store, Infinity);
  const row = { at: NOON, kind: "reprice", team: h.team.id, name: "job", failures: 2 } as const;
  await h.store.writer.commit({ sets: [workSet(row)] });
  await queue.postpone([row], NOON, new RangeError("no such card"));
  const { code, text } = await run(h);
  assertEquals(code, 0);
  const [cost, costError, job, jobError, ...more] = text.split("\n").slice(4);
  assertEquals([cost, costError, job, jobError], [
    `  ${runId(1)} of ${h.team.id}: cost, 1 tries, next try 2026-11-21T12:00:01.000Z`,
    "    TypeError: the odd one",
    `  job of ${h.team.id}: reprice, 3 tries, next try 2026-11-21T12:00:01.000Z`,
    "    RangeError: no such card",
  ]);
  assertEquals(more, []);
});

Harness.test("jobs: the running service completes a retried run, others stay dead", async (h) => {
  await killCost(h, 1);
  await killCost(h, 2);
  const { code, text } = await run(h, `--redrive=${runId(1)}`);
  assertEquals(code, 0);
  assertStringIncludes(text, `${runId(1)} of ${h.team.id}: cost will be retried`);
  assertStringIncludes(text, "within a minute");
  // As the timer does each minute.
  h.worker.wake();
  await h.worker.idle();
  await h.work.idle();
  assertEquals(await isDead(h, 1), false);
  assertEquals(await isDead(h, 2), true);
  assertStringIncludes((await run(h)).text, "1 dead");
});

Harness.test("jobs: all dead stages are retried together; a second retry reports that none is left", async (h) => {
  await killCost(h, 1);
  await killCost(h, 2);
  assertEquals((await run(h, "--redrive=all")).code, 0);
  h.worker.wake();
  await h.worker.idle();
  await h.work.idle();
  assertEquals([await isDead(h, 1), await isDead(h, 2)], [false, false]);
  const again = await run(h, "--redrive=all");
  assertEquals([again.code, again.text], [0, "No dead stages: nothing to retry."]);
  assertEquals((await run(h)).code, 0);
});

Harness.test("jobs: a run without a dead stage cannot be retried", async (h) => {
  await killCost(h, 1);
  const { code, text, failures } = await run(h, `--redrive=${runId(2)}`);
  assertEquals([code, text], [1, ""]);
  assertStringIncludes(failures[0] ?? "", `${runId(2)} has no dead stage: deno task jobs lists`);
  assertEquals(await isDead(h, 1), true);
});

Deno.test("jobs: as a task next to the running service it lists and retries", async () => {
  await using h = await Harness.open({ onDisk: true });
  await killCost(h, 1);
  const listed = await runTask("jobs", `--kv=${h.path}`);
  assertEquals([listed.code, listed.stderr], [1, ""]);
  assertStringIncludes(listed.stdout, "the odd one");
  const driven = await runTask("jobs", `--kv=${h.path}`, "--redrive=all");
  assertEquals([driven.code, driven.stderr], [0, ""]);
  // It uses the machine's clock, so the service's clock must match it.
  h.nowMs = Math.max(NOON, Date.now());
  h.worker.wake();
  await h.worker.idle();
  await h.work.idle();
  assertEquals(await isDead(h, 1), false);
});
