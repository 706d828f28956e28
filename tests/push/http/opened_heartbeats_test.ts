/** Openings, heartbeats and finishes on one id, in any order: the first opening sets the record. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { SEED } from "../../support/harness/seed.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../../support/builders/requests.ts";
import { type Answer, Harness } from "../../support/harness/harness.ts";

const GPT = { provider: "openai", model: "gpt-4o" };
const BEAT = {
  ...{ agent: "researcher", started_at: at(), finished_at: at(5_000), cost_usd: 7 },
  ...{ ...GPT, input_tokens: 1_000, output_tokens: 10 },
};

/** Calls of one run by name; all openings have one start, and all closing calls agree. */
const CALLS: Readonly<Record<string, (h: Harness, run: number) => Promise<Answer>>> = {
  open: (h, run) => h.post("/v1/runs", aRun(run, { goal: "g", metadata: { a: 1 } })),
  start: (h, run) => h.post("/v1/heartbeats", aHeartbeat(run, { ...BEAT, status: "start" })),
  ok: (h, run) => h.post("/v1/heartbeats", aHeartbeat(run, BEAT)),
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
  const { json } = await h.getFinal(`/v1/runs/${runId(run)}`);
  const { id: _, received_at: __, updated_at: ___, clock_skew_ms: ____, ...record } = json;
  const { revision: _____, ...cost } = record.cost;
  // The first close wins.
  assert(["finish", "heartbeat"].includes(record.closed_by), record.closed_by);
  const events = record.events.map((event: object) => ({ ...event, received_at: null }));
  const processing = record.processing.map((stage: object) => ({ ...stage, at: null }));
  return { ...record, closed_by: null, cost, events, processing };
}

/** Stores a run of each kind, and returns their records by kind. */
async function recordsByKind(h: Harness) {
  await send(h, 0, ["open", "events", "finish"]);
  await send(h, 1, ["ok", "events"]);
  const records = [await finalRecord(h, 0), await finalRecord(h, 1)] as const;
  const kinds = records.map(({ kind, cost_usd, goal }) => [kind, cost_usd, goal]);
  assertEquals(kinds, [["run", 0.0035, "g"], ["heartbeat", 7, null]]);
  assertEquals(records.map(({ usage }) => usage.input_tokens), [1_000, 2_000]);
  return { run: records[0], heartbeat: records[1] };
}

async function send(h: Harness, run: number, names: readonly string[], isPaced = false) {
  for (const name of names) {
    h.nowMs += 10;
    const answer = await CALLS[name]?.(h, run);
    assertEquals([200, 202].includes(answer?.status ?? 0), true, `${name}: ${answer?.text}`);
    if (isPaced) await h.worker.idle();
  }
}

Harness.test("R34: any order of opening, heartbeats and finish gives the record of the first opening", async (h) => {
  const records = await recordsByKind(h);
  let [run, cost, tokens] = [2, 7.0035, 3_000];
  const more = fc.array(fc.constantFrom(...NAMES), { maxLength: 4 });
  const orders = more.chain((added) =>
    fc.shuffledSubarray([...NAMES, ...added], { minLength: NAMES.length + added.length })
  );
  await fc.assert(
    fc.asyncProperty(orders, fc.boolean(), async (order, isPaced) => {
      const before = await h.usage();
      await send(h, run, order, isPaced);
      const first = order.find((name) => ["open", "start", "ok"].includes(name));
      const expected = records[first === "open" ? "run" : "heartbeat"];
      assertEquals(await finalRecord(h, run), expected);
      // A heartbeat that opens and closes is one call. Nothing is counted twice.
      const isOneCall = order.find((name) => name !== "events") === "ok";
      assertEquals(await h.usage() - before, isOneCall ? 2 : 3);
      run++;
      cost += expected.cost_usd;
      tokens += expected.usage.input_tokens;
    }),
    { seed: SEED, numRuns: 60 },
  );
  await h.worker.idle();
  const { totals } = (await h.get("/v1/spend?from=2026-11-01&to=2026-11-30")).json;
  assertEquals(
    [totals.runs, totals.cost_usd, totals.input_tokens],
    [run, Number(cost.toFixed(4)), tokens],
  );
  assertEquals((await verifyStore(h.store)).differences, []);
});

Harness.test("R34: of concurrent calls one opens the run, and the record is that of its kind", async (h) => {
  const records = await recordsByKind(h);
  for (let run = 2; run <= 20; run++) {
    const order = [...NAMES, ...NAMES].sort((a, b) => a.length * run % 7 - b.length * run % 7);
    const answers = await Promise.all(order.map((name) => CALLS[name]?.(h, run)));
    assertEquals(answers.map((answer) => (answer?.status ?? 0) < 300).includes(false), false);
    const record = await finalRecord(h, run);
    assertEquals(record, records[record.kind as keyof typeof records]);
  }
  assertEquals((await verifyStore(h.store)).differences, []);
});
