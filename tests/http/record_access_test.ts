/** Access to a record, and its report of late data (decisions 17, 31, 32; section 6). */
import { assertEquals } from "@std/assert";
import { aFinish, anEvent, aRun, at, events, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

async function revisionOf(h: Harness): Promise<[string, number]> {
  const { cost } = (await h.getFinal(PATH)).json;
  return [cost.state, cost.revision];
}

Harness.test("decision 17: each batch after the close finalizes the cost again", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`${PATH}/events`, { events: events(1, 2) });
  assertEquals(await revisionOf(h), ["pending", 0]);
  h.nowMs += 1_000;
  await h.post(`${PATH}/finish`, aFinish());
  assertEquals(await revisionOf(h), ["final", 1]);
  for (const revision of [2, 3]) {
    h.nowMs += 1_000;
    const late = await h.post(`${PATH}/events`, { events: [anEvent(revision * 10)] });
    assertEquals(late.status, 202);
    assertEquals(await revisionOf(h), ["final", revision]);
  }
  await h.post(`${PATH}/events`, { events: [anEvent(20)] });
  await h.post(`${PATH}/finish`, aFinish());
  assertEquals(await revisionOf(h), ["final", 3]);
  const run = (await h.get(PATH)).json;
  assertEquals([run.usage.events, run.updated_at, run.status], [4, at(3_000), "success"]);
});

Harness.test("decision 17: a batch in the same millisecond as the close, but after it, is late", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`${PATH}/finish`, aFinish());
  assertEquals(await revisionOf(h), ["final", 1]);
  await h.post(`${PATH}/events`, { events: [anEvent(1)] });
  assertEquals(await revisionOf(h), ["final", 2]);
});

for (
  const [name, ms, skew] of [
    ["60 s", 60_000, undefined],
    ["more than 60 s ahead", 60_001, 60_001],
    ["more than 60 s behind", -60_001, -60_001],
  ] as const
) {
  Harness.test(`decision 31: a run opened by a clock ${name} off`, async (h) => {
    assertEquals((await h.post("/v1/runs", aRun(1, { started_at: at(ms) }))).status, 202);
    assertEquals((await h.get(PATH)).json.clock_skew_ms, skew);
  });
}

Harness.test("decision 30: a run that ended before it began has no duration and is flagged", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`${PATH}/finish`, aFinish({ finished_at: at(-1) }));
  const run = (await h.get(PATH)).json;
  assertEquals([run.duration_ms, run.flags], [0, ["negative_duration"]]);
});
