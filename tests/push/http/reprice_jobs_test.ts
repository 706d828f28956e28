/** `/v1/rate-card/reprice`: jobs, their ownership, and repeated requests. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ACTIVE_JOBS_MAX, JOB_NAMES_MAX } from "../../../domain/core/jobs.ts";
import { newJob } from "../../../domain/repricing/reprice_job.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { runId } from "../../support/builders/requests.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { keys, newRowName } from "../../../kv/base/keys.ts";
import { modelPart } from "../../../kv/index/entries.ts";
import { refusalOf } from "../../support/builders/rate_cards.ts";
import {
  aClosedRun,
  ATLAS,
  daysAgo,
  putPrice,
  REPRICE,
  reprice,
} from "../../support/builders/reprice.ts";

const UNKNOWN = "0".repeat(26);

/**
 * Creates a mark that is never acknowledged, so that jobs wait; returns a function that removes it.
 */
async function blocked(h: Harness): Promise<() => Promise<void>> {
  await Promise.all([h.worker.stop(), h.work.stop()]);
  const key = keys.pending("open", UNKNOWN);
  await h.store.writer.commit({ sets: [{ key, value: `${h.team.id} run_eu_${"0".repeat(32)}` }] });
  return async () => void await h.store.writer.commit({ deletes: [key] });
}

Harness.test("a job reports its request, its state and its result", async (h) => {
  await aClosedRun(h, 1);
  await putPrice(h);
  const { id, created_by, ...job } = await reprice(h, {
    ...ATLAS,
    from: daysAgo(1),
    dry_run: true,
  });
  assert(/^[0-9A-Z]{26}$/.test(id));
  assert(created_by.startsWith("key_eu_"));
  assertEquals(job, {
    ...ATLAS,
    from: daysAgo(1),
    to: null,
    dry_run: true,
    state: "done",
    progress: 1,
    runs: 1,
    runs_changed: 1,
    runs_failed: 0,
    llm_calls: 1,
    old_cost_usd: 0,
    new_cost_usd: 0.003,
    difference_usd: 0.003,
    created_at: daysAgo(0),
    finished_at: daysAgo(0),
  });
  assertEquals((await h.get(`${REPRICE}/${id}`)).json, { id, created_by, ...job });
});

Harness.test("the same request returns the running job, and a new one once that is done", async (h) => {
  await aClosedRun(h, 1);
  await putPrice(h);
  const unblock = await blocked(h);
  const body = { model: ATLAS.model };
  const answers = await Promise.all(Array.from({ length: 8 }, () => h.post(REPRICE, body)));
  const first = answers.filter(({ status }) => status === 202);
  assertEquals(first.length, 1);
  assertEquals(first[0]?.json.state, "waiting");
  assertEquals(new Set(answers.map(({ json }) => json.id)).size, 1);
  for (const { status, headers } of answers) {
    assertEquals(headers.get("Idempotent-Replayed"), status === 202 ? null : "true");
  }
  const others = [
    { ...body, dry_run: true },
    { ...body, provider: "p" },
    { ...body, from: daysAgo(1) },
    { ...body, to: daysAgo(0) },
    { model: "another" },
  ];
  const created = await Promise.all(others.map((other) => h.post(REPRICE, other)));
  assertEquals(created.map(({ status }) => status), others.map(() => 202));
  const ids = new Set([first[0], ...created].map((answer) => answer?.json.id));
  assertEquals(ids.size, 6);
  await unblock();
  await h.restart();
  await h.work.idle();
  for (const { state } of (await h.get(REPRICE)).json.jobs) assertEquals(state, "done");
  const again = await reprice(h);
  assert(!ids.has(again.id));
});

Harness.test("a job waits until every run stored before it is aggregated, and then includes them all", async (h) => {
  const unblock = await blocked(h);
  for (let n = 0; n < 30; n++) await aClosedRun(h, n);
  await putPrice(h);
  const { json: job } = await h.post(REPRICE, { model: ATLAS.model });
  assertEquals([job.state, job.progress, job.finished_at], ["waiting", 0, null]);
  await unblock();
  await h.restart();
  await h.work.idle();
  const { json } = await h.get(`${REPRICE}/${job.id}`);
  assertEquals([json.state, json.runs, json.runs_changed, json.new_cost_usd], [
    "done",
    30,
    30,
    0.09,
  ]);
});

Harness.test("jobs are listed newest first, and the latest 100 finished jobs are kept", async (h) => {
  const ids: string[] = [];
  for (let n = 0; n < 103; n++) ids.push((await reprice(h, { model: `m${n}` })).id);
  const { jobs } = (await h.get(REPRICE)).json;
  const listed = jobs.map(({ id }: { id: string }) => id);
  assertEquals(listed, ids.slice(3).reverse());
  assertEquals((await h.get(`${REPRICE}/${ids[0]}`)).status, 404);
});

Harness.test("a model of more than 1,000 providers is refused, unless the job names one", async (h) => {
  const rows = Array.from({ length: JOB_NAMES_MAX + 1 }, (_, n) => {
    const name = modelPart({ provider: `p${n}`, model: "m" });
    return {
      key: keys.entry(keys.runsBy(h.team.id, "model", name), NOON, runId(n) as RunId),
      value: new Uint8Array(),
    };
  });
  const store = (some: typeof rows) => h.store.writer.commit({ sets: some });
  await store(rows.slice(0, 500));
  await store(rows.slice(500, JOB_NAMES_MAX));
  const fits = await h.post(REPRICE, { model: "m", dry_run: true });
  assertEquals(fits.status, 202, fits.text);
  await store(rows.slice(JOB_NAMES_MAX));
  const refused = await h.post(REPRICE, { model: "m" });
  assertEquals(refusalOf(refused), [400, "invalid_field", "provider"]);
  assertStringIncludes(refused.text, `more than ${JOB_NAMES_MAX} providers: name one`);
  assertEquals((await h.post(REPRICE, { model: "m", provider: "p7" })).status, 202);
});

Harness.test("a team has at most 10 running jobs, and other teams have their own limit", async (h) => {
  const other = await h.addTeam("team");
  const unblock = await blocked(h);
  await h.store.writer.commit(activeJobs(h));
  const refused = await h.post(REPRICE, { model: "one more" });
  assertEquals(refusalOf(refused), [429, "rate_limit", undefined]);
  assertStringIncludes(refused.text, "wait until one is done");
  // A request equal to a running job's creates no further job.
  const allowed = await Promise.all([
    h.post(REPRICE, { model: "m3" }),
    h.post(REPRICE, { model: "m" }, { key: other.key }),
  ]);
  assertEquals(allowed.map(({ status }) => status), [200, 202]);
  await unblock();
  await h.restart();
  await h.work.idle();
  assertEquals((await h.post(REPRICE, { model: "one more" })).status, 202);
});

/** As many waiting jobs as a team may have, as the calls store them. */
function activeJobs(h: Harness) {
  const jobs = Array.from({ length: ACTIVE_JOBS_MAX }, (_, n) => {
    const spec = { model: `m${n}`, provider: null, from: null, to: null };
    return newJob(newRowName(), spec, false, "key", NOON);
  });
  return {
    sets: [
      { key: keys.jobs("reprice", h.team.id), value: jobs.map(({ id }) => id) },
      ...jobs.flatMap((job) => [
        { key: keys.job("reprice", h.team.id, job.id), value: job },
        { key: keys.workRow(NOON, "reprice", h.team.id, job.id), value: 0 },
      ]),
    ],
  };
}
