import { assertEquals } from "@std/assert";
import { aFinish, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

Deno.test("a run is opened, fed with events, finished and read back", async () => {
  await using h = await Harness.open();
  assertEquals((await h.post("/v1/runs", aRun(1))).status, 202);
  const events = await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1), anEvent(2)] });
  assertEquals([events.status, events.json], [202, { accepted: 2, duplicates: 0 }]);
  assertEquals((await h.post(`/v1/runs/${runId(1)}/finish`, aFinish())).status, 202);
  const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
  assertEquals([run.status, run.duration_ms, run.usage.events], ["success", 5_000, 2]);
  assertEquals(await h.usage(), 4);
});
