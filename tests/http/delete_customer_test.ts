/** `DELETE /v1/customers/{customer_id}` and `GET /v1/deletions/{id}`. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ACTIVE_JOBS_MAX } from "../../domain/core/jobs.ts";
import type { CustomerDeletion } from "../../domain/retention/retention.ts";
import { keys, newRowName } from "../../kv/base/keys.ts";
import { DAY_MS } from "../support/harness/retention_harness.ts";
import { aFinish, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import { aCall } from "../support/builders/ledger_of_everything.ts";
import { refusalOf } from "../support/builders/rate_cards.ts";
import { assertClean } from "../support/oracles/stray_rows.ts";
import { until } from "../support/harness/until.ts";

const UNKNOWN = "0".repeat(26);

function remove(h: Harness, customer: string, key = h.key): Promise<Answer> {
  return h.request("DELETE", `/v1/customers/${encodeURIComponent(customer)}`, { key });
}

/** Returns a job once it is done: it may take longer than its request waits for it. */
async function untilDone(h: Harness, id: string): Promise<Answer["json"]> {
  return await until(async () => {
    const { json } = await h.get(`/v1/deletions/${id}`);
    return json.state === "done" && json;
  });
}

/** Stores a closed run of a customer with one call of a model. */
async function store(
  h: Harness,
  n: number,
  customer: string | undefined,
  fields: Record<string, unknown> = {},
  key = h.key,
): Promise<void> {
  const started_at = new Date(h.nowMs).toISOString();
  const run = aRun(n, { customer_id: customer, started_at, ...fields });
  assertEquals((await h.post("/v1/runs", run, { key })).status, 202);
  const path = `/v1/runs/${runId(n)}`;
  const call = aCall(n, n % 2 > 0 ? "gpt-4o" : "brand-new", { provider: "openai" });
  assertEquals((await h.post(`${path}/events`, { events: [call] }, { key })).status, 202);
  assertEquals((await h.post(`${path}/finish`, aFinish(), { key })).status, 202);
}

Harness.test("DELETE a customer: 200 with a receipt that can be read later, and a new one the next time", async (h) => {
  for (const n of [1, 2, 3]) await store(h, n, "acme");
  await store(h, 4, "globex");
  const answer = await remove(h, "acme");
  assertEquals([answer.status, answer.headers.get("Idempotent-Replayed")], [200, null]);
  const { id, created_by, ...job } = answer.json;
  assert(/^[0-9A-Z]{26}$/.test(id) && created_by.startsWith("key_eu_"));
  assertEquals(job, {
    customer_id: "acme",
    state: "done",
    runs: 3,
    runs_failed: 0,
    events: 3,
    spend_days: 0,
    created_at: at(),
    finished_at: at(),
  });
  assertEquals((await h.get(`/v1/deletions/${id}`)).text, answer.text);
  for (const n of [1, 2, 3]) {
    assertEquals((await h.get(`/v1/runs/${runId(n)}`)).status, 404);
    const again = await h.post("/v1/runs", aRun(n, { customer_id: "acme" }));
    assertEquals([again.status, again.json.field], [409, "id"]);
  }
  assertEquals((await h.get(`/v1/runs/${runId(4)}`)).status, 200);
  const next = await remove(h, "acme");
  assertEquals([next.status, next.json.runs, next.json.id === id], [200, 0, false]);
});

Harness.test("DELETE a customer: names are used as sent, and impossible names are refused", async (h) => {
  const names = ["a/b", "ä ö?#%", "😀".repeat(256), '"', "(unattributed)", "%41"];
  for (const [n, name] of names.entries()) {
    await store(h, n, name);
    // Not deleted with any of them.
    await store(h, 100 + n, undefined);
  }
  for (const name of names) {
    const { status, json } = await remove(h, name);
    assertEquals([status, json.customer_id, json.runs], [200, name, 1], name);
  }
  assertEquals((await h.getFinal("/v1/spend")).json.totals.runs, names.length);
  const before = await h.dump();
  for (const path of ["x".repeat(257), "%ff", "%"]) {
    const { status, json } = await h.request("DELETE", `/v1/customers/${path}`);
    assertEquals([status, json.error, json.field], [400, "invalid_field", "customer_id"], path);
  }
  assertEquals((await h.request("DELETE", "/v1/customers/")).status, 404);
  assertEquals(await h.dump(), before);
});

Harness.test("DELETE a customer: 100 runs while some of them receive calls, and all is exact", async (h) => {
  await Promise.all(Array.from({ length: 100 }, (_, n) => store(h, n, "acme")));
  await store(h, 900, "globex");
  let done = false;
  const deleting = remove(h, "acme").then(({ json }) => untilDone(h, json.id))
    .finally(() => done = true);
  let refused = 0;
  for (let i = 0; i < 20 || !done && refused < 20; i++) {
    const late = { events: [aCall(1_000 + i, "gpt-4o")] };
    const { status, text } = await h.post(`/v1/runs/${runId(i % 100)}/events`, late);
    assert(status === 202 || status === 409, text);
    if (status === 409) refused++;
  }
  const { runs, events } = await deleting;
  assertEquals(runs, 100);
  assert(refused > 0 && events >= 100, `${refused} calls are refused, ${events} events removed`);
  await h.worker.idle();
  assertEquals((await h.get("/v1/spend")).json.totals.runs, 1);
  await assertClean(h.store);
});

Deno.test("DELETE a customer: two equal concurrent requests are one job, which survives a restart", async () => {
  await using h = await Harness.open({ deps: { silentMsMax: 50 } });
  await Promise.all(Array.from({ length: 60 }, (_, n) => store(h, n, "acme")));
  await h.worker.idle();
  // A mark that is never acknowledged: the job waits for it as for pending runs.
  await Promise.all([h.worker.stop(), h.work.stop()]);
  const mark = keys.pending("open", UNKNOWN);
  await h.store.writer.commit({ sets: [{ key: mark, value: `${h.team.id} ${runId(999)}` }] });
  const answers = await Promise.all([remove(h, "acme"), remove(h, "acme"), remove(h, "globex")]);
  assertEquals(answers.map(({ status }) => status), [202, 202, 202]);
  const [first, second, other] = answers.map(({ json }) => json);
  assertEquals(first, second);
  assertEquals([first.state, first.runs, first.finished_at], ["waiting", 0, null]);
  assert(other.id !== first.id);
  const replays = answers.slice(0, 2).map(({ headers }) => headers.get("Idempotent-Replayed"));
  assertEquals(new Set(replays), new Set(["true", null]));
  await h.store.writer.commit({ deletes: [mark] });
  await h.restart();
  await h.work.idle();
  const done = (await h.get(`/v1/deletions/${first.id}`)).json;
  assertEquals([done.state, done.runs, done.events], ["done", 60, 60]);
  assertEquals((await h.get(`/v1/deletions/${other.id}`)).json.state, "done");
  await assertClean(h.store);
});

Harness.test("DELETE a customer: its receipt is kept for 30 days", async (h) => {
  const { id } = (await remove(h, "acme")).json;
  h.nowMs += 30 * DAY_MS;
  await h.sweep.sweepNow();
  assertEquals((await h.get(`/v1/deletions/${id}`)).status, 200);
  h.nowMs += DAY_MS;
  await h.sweep.sweepNow();
  assertEquals((await h.get(`/v1/deletions/${id}`)).status, 404);
});

Harness.test("DELETE a customer: a team has at most 10 such jobs in progress", async (h) => {
  const other = await h.addTeam("team");
  await Promise.all([h.worker.stop(), h.work.stop()]);
  const ids = Array.from({ length: ACTIVE_JOBS_MAX }, () => newRowName());
  for (const [n, id] of ids.entries()) {
    const job: CustomerDeletion = {
      id,
      customer: `c${n}`,
      state: "waiting",
      createdAt: h.nowMs,
      createdBy: "key",
      finishedAt: null,
      runs: 0,
      events: 0,
      days: 0,
      failed: 0,
    };
    await h.store.writer.commit({
      sets: [
        { key: keys.job("deletion", h.team.id, id), value: job },
        { key: keys.workRow(h.nowMs, "deletion", h.team.id, id), value: 0 },
        { key: keys.jobs("deletion", h.team.id), value: ids },
      ],
    });
  }
  const refused = await remove(h, "one more");
  assertEquals(refusalOf(refused), [429, "rate_limit", undefined]);
  assertStringIncludes(refused.text, "wait until one is done");
  await h.restart();
  assertEquals((await remove(h, "acme", other.key)).status, 200);
  await h.work.idle();
  assertEquals((await remove(h, "one more")).status, 200);
});
