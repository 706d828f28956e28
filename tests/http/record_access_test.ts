/** Access to a record, and its report of late data (decisions 17, 31, 32; section 6). */
import { assertEquals } from "@std/assert";
import {
  aFinish,
  anEvent,
  aRun,
  at,
  eventId,
  events,
  runId,
} from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

/** A response without the ids of this exchange. */
function seen({ status, headers, text }: Answer): unknown {
  const stableHeaders = [...headers].filter(([name]) => !["date", "x-request-id"].includes(name));
  return { status, text, headers: stableHeaders };
}

Deno.test("section 6: an unknown and a foreign id are 404 with the same bytes", async () => {
  await using h = await Harness.open();
  const other = await h.addTeam("business");
  await h.post("/v1/runs", aRun(1), { key: other.key });
  await h.post(`${PATH}/events`, { events: [anEvent(1)] }, { key: other.key });
  await h.post(`${PATH}/finish`, aFinish(), { key: other.key });
  for (const method of ["GET", "HEAD"]) {
    const foreign = await h.request(method, PATH);
    const unknown = await h.request(method, `/v1/runs/${runId(2)}`);
    assertEquals(seen(foreign), seen(unknown));
    assertEquals(foreign.status, 404);
  }
  const { json } = await h.get(PATH);
  assertEquals([json.error, Object.keys(json)], ["not_found", ["error", "message"]]);
});

Deno.test("section 6: HEAD answers like GET, without the body", async () => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  const head = await h.request("HEAD", PATH);
  assertEquals([head.status, head.text], [200, ""]);
  assertEquals(head.headers.get("content-type"), "application/json");
  assertEquals((await h.request("HEAD", PATH, { key: null })).status, 401);
});

Deno.test("section 6: reading needs the scope read, whether the run exists or not", async () => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  const ingest = await h.addKey({ kind: "api_key", scopes: ["ingest", "admin"] });
  const token = await h.addKey({ kind: "ping_token", agent: "researcher" });
  const read = await h.addKey({ kind: "api_key", scopes: ["read"] });
  for (const path of [PATH, `/v1/runs/${runId(2)}`]) {
    const forbidden = await h.get(path, { key: ingest });
    assertEquals([forbidden.status, forbidden.json.error], [403, "forbidden"]);
    const violation = await h.get(path, { key: token });
    assertEquals([violation.status, violation.json.error], [401, "scope_violation"]);
  }
  assertEquals((await h.get(PATH, { key: read })).status, 200);
  const write = await h.post("/v1/runs", aRun(2), { key: read });
  assertEquals([write.status, write.json.error], [403, "forbidden"]);
});

Deno.test("decision 5: a bad id in the path is refused before any lookup", async () => {
  await using h = await Harness.open();
  const bad: readonly (readonly [string, string])[] = [
    ["run_eu_1", "invalid_id"],
    [eventId(1), "invalid_id"],
    [runId(1).toUpperCase(), "invalid_id"],
    [runId(1, "xx"), "unknown_region"],
  ];
  for (const [id, code] of bad) {
    const { status, json } = await h.get(`/v1/runs/${id}`);
    assertEquals([status, json.error, json.field], [400, code, "id"]);
  }
});

async function revisionOf(h: Harness): Promise<[string, number]> {
  const { cost } = (await h.getSettled(PATH)).json;
  return [cost.state, cost.revision];
}

Deno.test("decision 17: each batch after the close finalizes the cost again", async () => {
  await using h = await Harness.open();
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

Deno.test("decision 17: a batch in the same millisecond as the close, but after it, is late", async () => {
  await using h = await Harness.open();
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
  Deno.test(`decision 31: a run opened by a clock ${name} off`, async () => {
    await using h = await Harness.open();
    assertEquals((await h.post("/v1/runs", aRun(1, { started_at: at(ms) }))).status, 202);
    assertEquals((await h.get(PATH)).json.clock_skew_ms, skew);
  });
}

Deno.test("decision 30: a run that ended before it began has no duration and is flagged", async () => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  await h.post(`${PATH}/finish`, aFinish({ finished_at: at(-1) }));
  const run = (await h.get(PATH)).json;
  assertEquals([run.duration_ms, run.flags], [0, ["negative_duration"]]);
});

Deno.test("section 6: fifty events per page, at most a thousand, each once and in order", async () => {
  await using h = await Harness.open();
  for (const from of [101, 1, 51]) {
    await h.post(`${PATH}/events`, { events: events(from, from + 49) });
  }
  const expected = events(1, 150).map(({ id }) => id);
  const results: string[] = [];
  const sizes: number[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const after: string = cursor === "" ? "" : `?events_cursor=${encodeURIComponent(cursor)}`;
    const { json } = await h.get(`${PATH}${after}`);
    results.push(...json.events.map((event: { id: string }) => event.id));
    sizes.push(json.events.length);
    cursor = json.events_cursor;
  }
  assertEquals([sizes, results], [[50, 50, 50], expected]);
  const all = (await h.get(`${PATH}?events_limit=1000`)).json;
  assertEquals([all.events.length, all.events_cursor], [150, null]);
  for (const query of ["events_limit=0", "events_limit=1001", "events_limit=x"]) {
    const { status, json } = await h.get(`${PATH}?${query}`);
    assertEquals([status, json.field], [400, "events_limit"]);
  }
  assertEquals((await h.get(`${PATH}?events_cursor=nonsense`)).json.field, "events_cursor");
});
