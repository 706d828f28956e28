/** Deletions of runs and of customers: receipts, what is left, and the answers to later calls. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DAY_MS } from "../support/harness/retention_harness.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  at,
  events,
  runId,
} from "../support/builders/requests.ts";
import { type Answer, enterprise, freeTeam, Harness } from "../support/harness/harness.ts";
import { assertClean } from "../support/oracles/stray_rows.ts";
import { ACTIVE_JOBS_MAX } from "../../domain/core/jobs.ts";
import type { CustomerDeletion } from "../../domain/retention/retention.ts";
import { keys, newRowName } from "../../kv/base/keys.ts";
import { aCall } from "../support/builders/ledger_of_everything.ts";
import { refusalOf } from "../support/builders/rate_cards.ts";
import { until } from "../support/harness/until.ts";

const PATH = `/v1/runs/${runId(1)}`;

function remove(h: Harness, n: number, key = h.key): Promise<Answer> {
  return h.request("DELETE", `/v1/runs/${runId(n)}`, { key });
}

/** Stores a run with two events. */
async function store(h: Harness, n = 1): Promise<void> {
  assertEquals((await h.post("/v1/runs", aRun(n, { agent: "nightly" }))).status, 202);
  const batch = { events: events(1, 2) };
  assertEquals((await h.post(`/v1/runs/${runId(n)}/events`, batch)).status, 202);
  assertEquals((await h.post(`/v1/runs/${runId(n)}/finish`, aFinish())).status, 202);
}

/** Every kind of call of run 1, as sent before and with other fields. */
const CALLS: Record<string, (h: Harness) => Promise<Answer>> = {
  "the same open": (h) => h.post("/v1/runs", aRun(1, { agent: "nightly" })),
  "another open": (h) => h.post("/v1/runs", aRun(1, { agent: "other", started_at: at(9) })),
  "events that were stored": (h) => h.post(`${PATH}/events`, { events: events(1, 2) }),
  "events that were not": (h) => h.post(`${PATH}/events`, { events: events(3, 4) }),
  "no events": (h) => h.post(`${PATH}/events`, { events: [] }),
  "a large event": (h) =>
    h.post(`${PATH}/events`, { events: [anEvent(9, { data: { text: "x".repeat(200_000) } })] }),
  "the finish": (h) => h.post(`${PATH}/finish`, aFinish()),
  "a start": (h) => h.post("/v1/heartbeats", aHeartbeat(1, { status: "start" })),
  "a heartbeat": (h) => h.post("/v1/heartbeats", aHeartbeat(1)),
};

Harness.test("DELETE a run: 200 with a receipt, the same receipt as a replay, and then the run is not found", async (h) => {
  await store(h);
  const first = await remove(h, 1);
  assertEquals([first.status, first.headers.get("Idempotent-Replayed")], [200, null]);
  const { deleted_by, ...receipt } = first.json;
  assertEquals(receipt, {
    id: runId(1),
    deleted_at: at(),
    runs: 1,
    events: 2,
    id_refused_until: at(30 * DAY_MS),
  });
  assertStringIncludes(deleted_by, "key_eu_");
  h.nowMs += 5_000;
  const again = await remove(h, 1, await h.addKey({ kind: "api_key", scopes: ["admin"] }));
  assertEquals([again.status, again.headers.get("Idempotent-Replayed")], [200, "true"]);
  assertEquals(again.text, first.text);
  const unknown = await h.get(`/v1/runs/${runId(2)}`);
  for (const path of [PATH, `${PATH}/cost`]) {
    const { status, text } = await h.get(path);
    assertEquals([status, text], [404, unknown.text]);
  }
});

freeTeam.test("DELETE a run: an unknown, a foreign and a swept id get the same bytes, a bad one is refused", async (h) => {
  const { key } = await h.addTeam("business");
  await store(h);
  await h.worker.idle();
  const unknown = await remove(h, 7);
  const foreign = await remove(h, 1, key);
  assertEquals([unknown.status, unknown.json.error], [404, "not_found"]);
  assertEquals([foreign.status, foreign.text], [404, unknown.text]);
  assertEquals((await h.get(PATH)).status, 200);
  h.nowMs += 31 * DAY_MS;
  assertEquals((await h.sweep.sweepNow())?.counts.records, 1);
  assertEquals((await remove(h, 1)).text, unknown.text);
  for (const [id, error] of [["run_eu_1", "invalid_id"], [runId(1, "xx"), "unknown_region"]]) {
    const refused = await h.request("DELETE", `/v1/runs/${id}`);
    assertEquals([refused.status, refused.json.error], [400, error]);
  }
});

Harness.test("DELETE a run: every later call is 409 id_conflict on id and stores nothing, warm or cold", async (h) => {
  await store(h);
  await remove(h, 1);
  const before = await h.dump();
  for (let round = 0; round < 2; round++) {
    for (const [name, send] of Object.entries(CALLS)) {
      const { status, json } = await send(h);
      assertEquals([status, json.error, json.field], [409, "id_conflict", "id"], name);
      assertStringIncludes(json.message, "30 days");
    }
    const ping = await h.get(`/v1/ping?agent=nightly&id=${runId(1)}`);
    assertEquals([ping.status, ping.headers.get("X-Error-Code")], [409, "id_conflict"]);
    assert(ping.text.startsWith("id_conflict "));
    // The second round uses a process with an empty cache.
    if (round === 0) await h.restart();
  }
  assertEquals(await h.dump(), before);
});

Harness.test("DELETE a run: a cached heartbeat start closes nothing after it", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start" }));
  assertEquals((await remove(h, 1)).json.events, 0);
  const closing = await h.post("/v1/heartbeats", aHeartbeat(1));
  assertEquals([closing.status, closing.json.field], [409, "id"]);
  assertEquals(await h.usage(), 1);
});

Harness.test("DELETE a run: it is removed from spend and its agent's counts, and stays in usage", async (h) => {
  await store(h, 1);
  await store(h, 2);
  const usage = (await h.getFinal("/v1/usage")).json;
  await remove(h, 1);
  const { totals } = (await h.get("/v1/spend")).json;
  assertEquals([totals.runs, totals.events], [1, 2]);
  const agent = (await h.get("/v1/agents/nightly")).json;
  assertEquals([agent.runs, agent.succeeded, agent.last_run_id], [1, 1, runId(2)]);
  assertEquals((await h.get("/v1/usage")).json, usage);
  await assertClean(h.store);
});

enterprise.test("DELETE a run: after 30 days and a sweep its id is free for a new run", async (h) => {
  await store(h);
  await remove(h, 1);
  h.nowMs += 30 * DAY_MS + 1;
  assertEquals((await h.post("/v1/runs", aRun(1))).status, 409);
  assertEquals((await h.sweep.sweepNow())?.counts.released, 1);
  assertEquals((await remove(h, 1)).status, 404);
  await store(h);
  const run = (await h.getFinal(PATH)).json;
  assertEquals([run.status, run.usage.events], ["success", 2]);
  await assertClean(h.store);
});

Harness.test("DELETE a run: racing calls are stored and deleted, or refused; nothing is left over", async (h) => {
  const statuses = new Set<number>();
  let [counted, event] = [0, 1];
  const check = ({ status, text, json }: Answer) => {
    assert([200, 202, 409].includes(status), text);
    statuses.add(status);
    if (status === 409) assertEquals(json.field, "id");
    if (status === 202) counted += json.accepted ?? 1;
  };
  for (let n = 1; n <= 25; n++) {
    const path = `/v1/runs/${runId(n)}`;
    // Half of them exist beforehand.
    if (n % 2 > 0) check(await h.post("/v1/runs", aRun(n)));
    let done = false;
    const send = async () => {
      while (!done) check(await h.post(`${path}/events`, { events: [anEvent(event++)] }));
    };
    const calls = [
      h.post("/v1/runs", aRun(n)),
      h.post(`${path}/finish`, aFinish()),
      h.post("/v1/heartbeats", aHeartbeat(n, { agent: "researcher" })),
    ];
    const sending = [send(), send()];
    const deleted = [await remove(h, n), await remove(h, n)];
    done = true;
    for (const answer of await Promise.all(calls)) check(answer);
    await Promise.all(sending);
    // Whatever the outcome of the race, now it is deleted, and stays so.
    assertEquals((await remove(h, n)).status, 200);
    for (const { status, text } of deleted) assert(status === 200 || status === 404, text);
    assertEquals((await h.post(`${path}/events`, { events: [anEvent(event++)] })).status, 409);
    assertEquals((await h.get(path)).status, 404);
  }
  assert(statuses.has(409) && statuses.has(202), [...statuses].join());
  await h.worker.idle();
  assertEquals(await h.usage(), counted);
  assertEquals((await h.get("/v1/spend")).json.totals.runs, 0);
  await assertClean(h.store);
});

const UNKNOWN = "0".repeat(26);

function removeCustomer(h: Harness, customer: string, key = h.key): Promise<Answer> {
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
async function storeRunOf(
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
  for (const n of [1, 2, 3]) await storeRunOf(h, n, "acme");
  await storeRunOf(h, 4, "globex");
  const answer = await removeCustomer(h, "acme");
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
  const next = await removeCustomer(h, "acme");
  assertEquals([next.status, next.json.runs, next.json.id === id], [200, 0, false]);
});

Harness.test("DELETE a customer: names are used as sent, and impossible names are refused", async (h) => {
  const names = ["a/b", "ä ö?#%", "😀".repeat(256), '"', "(unattributed)", "%41"];
  for (const [n, name] of names.entries()) {
    await storeRunOf(h, n, name);
    // Not deleted with any of them.
    await storeRunOf(h, 100 + n, undefined);
  }
  for (const name of names) {
    const { status, json } = await removeCustomer(h, name);
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
  await Promise.all(Array.from({ length: 100 }, (_, n) => storeRunOf(h, n, "acme")));
  await storeRunOf(h, 900, "globex");
  let done = false;
  const deleting = removeCustomer(h, "acme").then(({ json }) => untilDone(h, json.id))
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
  await Promise.all(Array.from({ length: 60 }, (_, n) => storeRunOf(h, n, "acme")));
  await h.worker.idle();
  // A mark that is never acknowledged: the job waits for it as for pending runs.
  await Promise.all([h.worker.stop(), h.work.stop()]);
  const mark = keys.pending("open", UNKNOWN);
  await h.store.writer.commit({ sets: [{ key: mark, value: `${h.team.id} ${runId(999)}` }] });
  const answers = await Promise.all([
    removeCustomer(h, "acme"),
    removeCustomer(h, "acme"),
    removeCustomer(h, "globex"),
  ]);
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
  const { id } = (await removeCustomer(h, "acme")).json;
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
  const refused = await removeCustomer(h, "one more");
  assertEquals(refusalOf(refused), [429, "rate_limit", undefined]);
  assertStringIncludes(refused.text, "wait until one is done");
  await h.restart();
  assertEquals((await removeCustomer(h, "acme", other.key)).status, 200);
  await h.work.idle();
  assertEquals((await removeCustomer(h, "one more")).status, 200);
});
