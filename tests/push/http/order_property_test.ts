/** The core invariant: a run is a join of write-once parts, and no order of arrival matters. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { SEED } from "../../support/harness/seed.ts";
import { aFinish, anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { type Answer, Harness } from "../../support/harness/harness.ts";

/** A call of a run; `events` counts the items it sends. */
interface Call {
  readonly name: string;
  readonly items: number;
  send(h: Harness, run: number): Promise<Answer>;
}

function call(name: string, path: string, items: number, body: (run: number) => unknown): Call {
  const pathOf = (run: number) => path.replace("{id}", runId(run));
  return { name, items, send: (h, run) => h.post(pathOf(run), body(run)) };
}

function llmCall(n: number, model: string) {
  const data = { provider: "p", model, input_tokens: 10 * n, output_tokens: n };
  return anEvent(n, { type: "llm_call", data });
}

/** Events overlap between batches: 2 and 4 are sent twice. */
const BATCHES = [
  [llmCall(1, "m1"), anEvent(2)],
  [anEvent(2), anEvent(3, { type: "tool_call" }), llmCall(4, "m2")],
  [llmCall(4, "m2"), anEvent(5, { data: { message: "x", error: "bad" } })],
];
const DISTINCT_EVENTS = 5;

const OPEN = call(
  "open",
  "/v1/runs",
  1,
  (run) => aRun(run, { customer_id: "c", feature: "f", metadata: { b: 1, "2": "x" }, goal: "g" }),
);
const EVENTS = BATCHES.map((events, i) =>
  call(`batch ${i}`, "/v1/runs/{id}/events", events.length, () => ({ events }))
);
const FINISH = call(
  "finish",
  "/v1/runs/{id}/finish",
  1,
  () => aFinish({ output: { a: 1.0 }, scores: { good: true, depth: 3 }, metadata: { b: 2 } }),
);
const CALLS = [OPEN, ...EVENTS, FINISH];

/** The expected result of each order; events at one instant are in order of arrival. */
async function finalRecord(h: Harness, run: number) {
  const { json } = await h.getFinal(`/v1/runs/${runId(run)}`);
  const { received_at: _, updated_at: __, clock_skew_ms: ___, ...timeless } = json;
  const { id, cost, events, processing, ...rest } = timeless;
  assertEquals(id, runId(run));
  const { revision, ...values } = cost;
  const late = events.map((event: Record<string, unknown>) => ({ ...event, received_at: null }));
  const stages = processing.map((stage: Record<string, unknown>) => ({ ...stage, at: null }));
  return { revision, record: { ...rest, cost: values, events: late, processing: stages } };
}

/** Sends calls in sequence, each at a later time, and checks every response. */
async function sendAll(
  h: Harness,
  run: number,
  calls: readonly Call[],
  afterEach = () => Promise.resolve(),
): Promise<void> {
  const sentCalls = new Set<string>();
  for (const each of calls) {
    h.nowMs += 10;
    const { status, json, headers } = await each.send(h, run);
    const replay = sentCalls.has(each.name);
    sentCalls.add(each.name);
    if (EVENTS.includes(each)) {
      assertEquals([status, json.accepted + json.duplicates], [202, each.items]);
      if (replay) assertEquals(json.accepted, 0);
    } else {
      assertEquals(status, replay ? 200 : 202, each.name);
      assertEquals(headers.get("Idempotent-Replayed"), replay ? "true" : null);
    }
    await afterEach();
  }
}

function ordersOf<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) => ordersOf(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}

Harness.test("decisions, section 1: any order, also with duplicates, gives the same record and usage", async (h) => {
  await sendAll(h, 0, CALLS);
  const { record } = await finalRecord(h, 0);
  assertEquals([record.status, record.usage.events, record.usage.llm_calls], ["success", 5, 2]);
  assertEquals(record.metadata, { b: 2, "2": "x" });
  const each = await h.usage();
  assertEquals(each, 2 + DISTINCT_EVENTS);
  let run = 1;
  const orders = fc.array(fc.constantFrom(...CALLS), { maxLength: 10 })
    .chain((more) => fc.shuffledSubarray([...CALLS, ...more], { minLength: 5 + more.length }));
  const property = fc.asyncProperty(orders, async (order) => {
    const before = await h.usage();
    await sendAll(h, run, order);
    assertEquals((await finalRecord(h, run++)).record, record);
    assertEquals(await h.usage() - before, each);
  });
  // The examples are all orders without duplicates.
  const examples = ordersOf(CALLS).map((order): [Call[]] => [order]);
  assertEquals(examples.length, 120);
  await fc.assert(property, { seed: SEED, numRuns: examples.length + 60, examples });
});

Harness.test("decisions, section 1: concurrent calls give the same record", async (h) => {
  await sendAll(h, 0, CALLS);
  const { record } = await finalRecord(h, 0);
  let run = 1;
  const orders = fc.array(fc.constantFrom(...CALLS), { maxLength: 15 })
    .chain((more) => fc.shuffledSubarray([...CALLS, ...more], { minLength: 5 + more.length }));
  const property = fc.asyncProperty(orders, async (order) => {
    const before = await h.usage();
    const answers = await Promise.all(order.map((each) => each.send(h, run)));
    const accepted = answers.reduce((sum, { json }) => sum + (json.accepted ?? 0), 0);
    const firsts = answers.filter(({ status, json }) => status === 202 && !("accepted" in json));
    assertEquals([accepted, firsts.length], [DISTINCT_EVENTS, 2]);
    assertEquals((await finalRecord(h, run++)).record, record);
    assertEquals(await h.usage() - before, 2 + DISTINCT_EVENTS);
  });
  await fc.assert(property, { seed: SEED, numRuns: 30 });
});

Harness.test("decision 17: concurrent events after the finish revise the cost at least once", async (h) => {
  await sendAll(h, 1, [OPEN, FINISH], () => h.worker.idle());
  await Promise.all(EVENTS.map((batch) => batch.send(h, 1)));
  const { revision, record } = await finalRecord(h, 1);
  assertEquals([record.cost.state, record.usage.events], ["final", DISTINCT_EVENTS]);
  assert(revision >= 2 && revision <= 1 + EVENTS.length, `revision ${revision}`);
});
