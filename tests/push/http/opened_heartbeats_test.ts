/** A heartbeat's cost counts unless `POST /v1/runs` opened its run, in any order of arrival. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { SEED } from "../../support/harness/seed.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../../support/builders/requests.ts";
import { type Answer, Harness } from "../../support/harness/harness.ts";

const AGENT = { agent: "researcher" };
const GPT = { provider: "openai", model: "gpt-4o" };
const STATED = { cost_usd: 7, input_tokens: 1_000, output_tokens: 10, finished_at: at(5_000) };

/** Calls of one run by name; all closing calls agree. */
const CALLS: Readonly<Record<string, (h: Harness, run: number) => Promise<Answer>>> = {
  open: (h, run) => h.post("/v1/runs", aRun(run, { goal: "g", metadata: { a: 1 } })),
  start: (h, run) =>
    h.post("/v1/heartbeats", aHeartbeat(run, { ...AGENT, ...GPT, status: "start", ...STATED })),
  ok: (h, run) => h.post("/v1/heartbeats", aHeartbeat(run, { ...AGENT, ...STATED })),
  finish: (h, run) => h.post(`/v1/runs/${runId(run)}/finish`, aFinish()),
  events: (h, run) => {
    const data = { ...GPT, input_tokens: 1_000, output_tokens: 100 };
    return h.post(`/v1/runs/${runId(run)}/events`, {
      events: [anEvent(1, { type: "llm_call", data })],
    });
  },
};
const NAMES = Object.keys(CALLS);

/** The final run without its id and the fields that depend on the order of arrival. */
async function finalRecord(h: Harness, run: number) {
  const { json } = await h.getSettled(`/v1/runs/${runId(run)}`);
  const { id: _, received_at: __, updated_at: ___, clock_skew_ms: ____, ...record } = json;
  const { revision: _____, ...cost } = record.cost;
  // The first close wins.
  assert(["finish", "heartbeat"].includes(record.closed_by), record.closed_by);
  const events = record.events.map((event: object) => ({ ...event, received_at: null }));
  const processing = record.processing.map((stage: object) => ({ ...stage, at: null }));
  return { ...record, closed_by: null, cost, events, processing };
}

async function send(h: Harness, run: number, names: readonly string[], isPaced = false) {
  for (const name of names) {
    h.nowMs += 10;
    const answer = await CALLS[name]?.(h, run);
    assertEquals([200, 202].includes(answer?.status ?? 0), true, `${name}: ${answer?.text}`);
    if (isPaced) await h.worker.idle();
  }
}

async function spent(h: Harness) {
  await h.worker.idle();
  const { totals } = (await h.get("/v1/spend?from=2026-11-01&to=2026-11-30")).json;
  return [totals.runs, totals.cost_usd, totals.input_tokens];
}

Deno.test("R18: any order of opening, heartbeats and finish, with duplicates, gives one record", async () => {
  await using h = await Harness.open();
  await send(h, 0, ["open", "events", "finish"]);
  const record = await finalRecord(h, 0);
  assertEquals([record.kind, record.cost_usd, record.goal], ["run", 0.0035, "g"]);
  assertEquals(record.usage.input_tokens, 1_000);
  let run = 1;
  const more = fc.array(fc.constantFrom(...NAMES), { maxLength: 4 });
  const orders = more.chain((added) =>
    fc.shuffledSubarray([...NAMES, ...added], { minLength: NAMES.length + added.length })
  );
  await fc.assert(
    fc.asyncProperty(orders, fc.boolean(), async (order, isPaced) => {
      const before = await h.usage();
      await send(h, run, order, isPaced);
      assertEquals(await finalRecord(h, run), record);
      // The opening, the close and the event: nothing is counted twice.
      assertEquals(await h.usage() - before, 3);
      run++;
    }),
    { seed: SEED, numRuns: 60 },
  );
  const cost = Number((0.0035 * run).toFixed(4));
  assertEquals(await spent(h), [run, cost, 1_000 * run]);
  assertEquals((await verifyStore(h.store)).differences, []);
});

Deno.test("R18: concurrent calls give the same record", async () => {
  await using h = await Harness.open();
  await send(h, 0, ["open", "events", "finish"]);
  const record = await finalRecord(h, 0);
  for (let run = 1; run <= 20; run++) {
    const order = [...NAMES, ...NAMES].sort((a, b) => a.length * run % 7 - b.length * run % 7);
    const answers = await Promise.all(order.map((name) => CALLS[name]?.(h, run)));
    assertEquals(answers.map((answer) => (answer?.status ?? 0) < 300).includes(false), false);
    assertEquals(await finalRecord(h, run), record);
  }
  assertEquals(await h.usage(), 21 * 3);
  assertEquals((await verifyStore(h.store)).differences, []);
});

Deno.test("R18: an opening after a heartbeat is stored once, replaces its start and removes the cost", async () => {
  await using h = await Harness.open();
  await send(h, 1, ["ok"]);
  assertEquals(await spent(h), [1, 7, 1_000]);
  const path = `/v1/runs/${runId(1)}`;
  assertEquals((await h.get(path)).json.cost.revision, 1);
  const response = await h.post("/v1/runs", aRun(1, { started_at: at(-60_000) }));
  assertEquals([response.status, response.json.status], [202, "running"]);
  assertEquals(response.json.started_at, at(-60_000));
  const again = await h.post("/v1/runs", aRun(1, { started_at: at(-60_000) }));
  assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, "true"]);
  const { status, headers } = await h.post("/v1/heartbeats", aHeartbeat(1, { ...AGENT }));
  assertEquals([status, headers.get("idempotent-replayed")], [200, "true"]);
  assertEquals(await spent(h), [1, 0, 0]);
  const { kind, cost, cost_usd, started_at } = (await h.get(path)).json;
  assertEquals([kind, cost_usd, cost.revision, started_at], ["run", 0, 2, at(-60_000)]);
  const [listed] = (await h.get("/v1/runs?kind=run")).json.runs;
  assertEquals([listed.id, listed.cost_usd], [runId(1), 0]);
  assertEquals((await h.get("/v1/runs?kind=heartbeat")).json.runs, []);
  assertEquals((await verifyStore(h.store)).differences, []);
});

Deno.test("R18: another start conflicts with a heartbeat that states the run's start", async () => {
  await using h = await Harness.open();
  await h.post("/v1/heartbeats", aHeartbeat(1, { ...AGENT, started_at: at() }));
  const other = await h.post("/v1/runs", aRun(1, { started_at: at(1) }));
  assertEquals([other.status, other.json.field], [409, "started_at"]);
  assertEquals((await h.post("/v1/runs", aRun(1))).status, 202);
});

Deno.test("R18: the pieces of a large output are removed with their opening", async () => {
  await using h = await Harness.open();
  // Random bytes do not compress.
  const noise = [1, 2, 3].map(() => crypto.getRandomValues(new Uint8Array(60_000)).toHex());
  const large = { noise };
  await h.post("/v1/heartbeats", aHeartbeat(1, { ...AGENT, status: "start", output: large }));
  const pieces = async () =>
    (await Array.fromAsync(h.store.reader.list({ prefix: ["chunk"] }))).length;
  const before = await pieces();
  await h.post("/v1/runs", aRun(1));
  assertEquals([before > 0, await pieces()], [true, 0]);
});
