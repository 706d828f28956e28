/** Identifiers, and the field named by a refusal (decisions 5, 6, 8 and 9). */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const HEX = "0123456789abcdef0123456789abcdef";

/** Texts that are not a run id, and run ids of an unknown region. */
const BAD_RUN_IDS: readonly (readonly [id: unknown, code: string])[] = [
  ["", "invalid_id"],
  ["run", "invalid_id"],
  [HEX, "invalid_id"],
  [`run_${HEX}`, "invalid_id"],
  [`run_eu_${HEX.slice(1)}`, "invalid_id"],
  [`run_eu_${HEX}0`, "invalid_id"],
  [`run_eu_${HEX.toUpperCase()}`, "invalid_id"],
  [`run_eu_${HEX.slice(1)}g`, "invalid_id"],
  [`run_eu_${HEX.slice(1)}\uff11`, "invalid_id"],
  [`run_EU_${HEX}`, "invalid_id"],
  [`run_e_${HEX}`, "invalid_id"],
  [`run_eur_${HEX}`, "invalid_id"],
  [`RUN_eu_${HEX}`, "invalid_id"],
  [`evt_eu_${HEX}`, "invalid_id"],
  [`evt_xx_${HEX}`, "invalid_id"],
  [` run_eu_${HEX}`, "invalid_id"],
  [`run_eu_${HEX}\n`, "invalid_id"],
  [`run_xx_${HEX.slice(1)}`, "invalid_id"],
  [7, "invalid_id"],
  [true, "invalid_id"],
  [{}, "invalid_id"],
  [[runId(1)], "invalid_id"],
  [`run_xx_${HEX}`, "unknown_region"],
  [`run_ue_${HEX}`, "unknown_region"],
  [`run_uk_${HEX}`, "unknown_region"],
];

function refusal({ status, json }: Answer): [number, string, string | undefined] {
  return [status, json.error, json.field];
}

Deno.test("decision 5: a body's run id is checked by its pattern, then by its region", async () => {
  await using h = await Harness.open();
  const before = await h.dump();
  for (const [id, code] of BAD_RUN_IDS) {
    for (
      const answer of [
        await h.post("/v1/runs", aRun(1, { id })),
        await h.post("/v1/heartbeats", aHeartbeat(1, { id })),
      ]
    ) assertEquals(refusal(answer), [400, code, "id"], JSON.stringify(id));
  }
  assertEquals(await h.dump(), before);
});

Deno.test("decision 5: a path's run id is checked the same way on every route", async () => {
  await using h = await Harness.open();
  for (const [id, code] of BAD_RUN_IDS) {
    if (typeof id !== "string" || id === "") continue;
    const path = `/v1/runs/${encodeURIComponent(id)}`;
    for (
      const answer of [
        await h.get(path),
        await h.post(`${path}/events`, { events: [anEvent(1)] }),
        await h.post(`${path}/finish`, aFinish()),
      ]
    ) assertEquals(refusal(answer), [400, code, "id"], id);
  }
});

Deno.test("decision 5: an event id is checked the same way, and its message names the index", async () => {
  await using h = await Harness.open();
  for (const [run, code] of BAD_RUN_IDS) {
    const id = typeof run === "string"
      ? run.replace(/^(run|evt)/, (p) => p === "run" ? "evt" : "run")
      : run;
    const events = [anEvent(1), anEvent(2), anEvent(3, { id })];
    const answer = await h.post(`/v1/runs/${runId(1)}/events`, { events });
    assertEquals(refusal(answer), [400, code, "id"], JSON.stringify(id));
    assertStringIncludes(answer.json.message, "events[2].id");
  }
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 404);
});

Deno.test("decision 5: ids of the other region are stored and read at this endpoint", async () => {
  await using h = await Harness.open();
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

Deno.test("decisions, section 2: the first bad field in the order of the tables is named", async () => {
  await using h = await Harness.open();
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

Deno.test("decision 6: the refusal of an event names index and field", async () => {
  await using h = await Harness.open();
  for (
    const [fields, code, field, place] of [
      [{ id: undefined }, "missing_field", "id", "events[7].id"],
      [{ type: undefined }, "missing_field", "type", "events[7].type"],
      [{ ts: undefined }, "missing_field", "ts", "events[7].ts"],
      [{ data: undefined }, "missing_field", "data", "events[7].data"],
      [{ id: null }, "missing_field", "id", "events[7].id"],
      [{ data: null }, "missing_field", "data", "events[7].data"],
      [{ type: "" }, "invalid_field", "type", "events[7].type"],
      [{ type: "x".repeat(129) }, "invalid_field", "type", "events[7].type"],
      [{ ts: "yesterday" }, "invalid_field", "ts", "events[7].ts"],
      [{ data: "text" }, "invalid_field", "data", "events[7].data"],
      [{ data: [1] }, "invalid_field", "data", "events[7].data"],
    ] as const
  ) {
    const events = Array.from({ length: 9 }, (_, n) => anEvent(n, n === 7 ? fields : {}));
    const answer = await h.post(`/v1/runs/${runId(1)}/events`, { events });
    assertEquals(refusal(answer), [400, code, field], JSON.stringify(fields));
    assertStringIncludes(answer.json.message, place);
  }
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 404);
});

Deno.test("decision 8: null counts as absent in an optional field and missing in a required one", async () => {
  await using h = await Harness.open();
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

Deno.test("decision 9: unknown fields are ignored, whatever their names", async () => {
  await using h = await Harness.open();
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
