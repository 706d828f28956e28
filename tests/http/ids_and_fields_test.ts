/** Identifiers, and the field named by a refusal (decisions 5, 6, 8 and 9). */
import { assertEquals, assertMatch } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const HEX = "0123456789abcdef0123456789abcdef";

function refusal({ status, json }: Answer): [number, string, string | undefined] {
  return [status, json.error, json.field];
}

Harness.test("decision 5: ids of the other region are stored and read at this endpoint", async (h) => {
  const id = runId(1, "us");
  assertEquals((await h.post("/v1/runs", aRun(1, { id }))).status, 202);
  const event = anEvent(1, { id: `evt_us_${HEX}` });
  assertEquals((await h.post(`/v1/runs/${id}/events`, { events: [event] })).status, 202);
  assertEquals((await h.post(`/v1/runs/${id}/finish`, aFinish())).status, 202);
  const run = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals([run.id, run.status, run.events[0].id], [id, "success", event.id]);
  // The same digits in this region are another run.
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 404);
});

/** Each call's checked fields in the order of its table: a bad value, then a good one. */
const TABLES = {
  "/v1/runs": [
    ["id", 1, runId(1)],
    ["agent", "", "researcher"],
    ["started_at", "noon", at()],
    ["metadata", "no", {}],
  ],
  [`/v1/runs/${runId(1)}/finish`]: [
    ["status", "ok", "failed"],
    ["finished_at", "2026-11-21T12:00:00+24:00", at(1)],
    ["metadata", 1, {}],
  ],
  "/v1/heartbeats": [
    ["id", 1, runId(3)],
    ["agent", " ", "nightly"],
    ["status", "success", "ok"],
    ["started_at", 0, at()],
    ["finished_at", "", at(1)],
    ["cost_usd", -1, 0.5],
    ["input_tokens", 1.5, 1],
    ["output_tokens", "1", 1],
    ["cached_input_tokens", -1, 1],
    ["duration_ms", 2 ** 53, 1],
    ["metadata", [1], {}],
  ],
} as const;

Harness.test("decisions, section 2: the first bad field in the order of the tables is named", async (h) => {
  for (const [path, fields] of Object.entries(TABLES)) {
    // Sent in reverse, so that the table's order decides and not the body's.
    const input = new Map<string, unknown>(fields.toReversed().map(([name, bad]) => [name, bad]));
    for (const [name, , good] of fields) {
      const answer = await h.post(path, Object.fromEntries(input));
      const code = name === "id" ? "invalid_id" : "invalid_field";
      assertEquals(refusal(answer), [400, code, name], `${path} ${name}`);
      assertMatch(answer.json.message, new RegExp(`"${name}`));
      input.set(name, good);
    }
    assertEquals((await h.post(path, Object.fromEntries(input))).status, 202, path);
  }
});

Harness.test("decision 8: null counts as absent in an optional field and missing in a required one", async (h) => {
  const required: Record<string, readonly string[]> = {
    "/v1/runs": ["id", "agent", "started_at"],
    [`/v1/runs/${runId(1)}/finish`]: ["status", "finished_at"],
    "/v1/heartbeats": ["agent"],
  };
  for (const [path, fields] of Object.entries(TABLES)) {
    const needed = required[path] ?? [];
    const good = Object.fromEntries(
      fields.map(([name, , value]) => [name, needed.includes(name) ? value : null]),
    );
    for (const name of needed) {
      const { [name]: _, ...without } = good;
      for (const body of [without, { ...good, [name]: null }]) {
        assertEquals(refusal(await h.post(path, body)), [400, "missing_field", name], path);
      }
    }
    assertEquals((await h.post(path, good)).status, 202, path);
  }
  const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
  const { customer_id, feature, metadata, goal, output, scores, links } = run;
  assertEquals([customer_id, feature, metadata, goal, output], [null, null, null, null, null]);
  assertEquals([scores, links.parent], [[], null]);
});

Harness.test("decision 9: unknown fields are ignored, whatever their names", async (h) => {
  const extra = `"__proto__":{"agent":"x"},"constructor":1,"toString":null,"":[],"sdk":{"v":"1"}`;
  const body = `{${extra},${JSON.stringify(aRun(1)).slice(1)}`;
  assertEquals((await h.post("/v1/runs", body)).status, 202);
  const event = `{${extra},${JSON.stringify(anEvent(1)).slice(1)}`;
  assertEquals((await h.post(`/v1/runs/${runId(1)}/events`, `{"events":[${event}]}`)).status, 202);
  const finish = `{${extra},${JSON.stringify(aFinish()).slice(1)}`;
  assertEquals((await h.post(`/v1/runs/${runId(1)}/finish`, finish)).status, 202);
  const heartbeat = `{${extra},${JSON.stringify(aHeartbeat(2)).slice(1)}`;
  assertEquals((await h.post("/v1/heartbeats", heartbeat)).status, 202);
  const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
  assertEquals([run.agent, run.status, run.usage.events], ["researcher", "success", 1]);
  // Only the body's own members satisfy a required field, never inherited ones.
  const inherited = `{"__proto__":${JSON.stringify(aRun(3))}}`;
  assertEquals(refusal(await h.post("/v1/runs", inherited)), [400, "missing_field", "id"]);
});
