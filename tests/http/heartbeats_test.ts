/** One heartbeat: its response, fields, price and times. */
import { assertEquals, assertMatch } from "@std/assert";
import { aHeartbeat, at, runId } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";

Harness.test("contract 5: only agent is required; the server sets every default", async (h) => {
  const response = await h.post("/v1/heartbeats", { agent: "nightly" });
  assertEquals(response.status, 202);
  assertMatch(response.headers.get("content-type") ?? "", /^application\/json/);
  const { id, ...rest } = response.json;
  assertEquals(rest, {
    agent: "nightly",
    status: "ok",
    started_at: at(),
    finished_at: at(),
    received_at: at(),
    cost_usd: 0,
    duration_ms: 0,
  });
  const run = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals([run.kind, run.agent, run.status], ["heartbeat", "nightly", "success"]);
  assertEquals(run.events, []);
});

for (const region of ["eu", "us"] as const) {
  Deno.test(`decision 33: a minted id is a UUIDv7 of the endpoint's region ${region}`, async () => {
    await using h = await Harness.open({ region });
    const ids = new Set<string>();
    for (let i = 0; i < 5; i++) {
      const { id } = (await h.post("/v1/heartbeats", { agent: "nightly" })).json;
      const time = NOON.toString(16).padStart(12, "0");
      assertMatch(id, new RegExp(`^run_${region}_${time}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`));
      assertEquals((await h.get(`/v1/runs/${id}`)).status, 200);
      ids.add(id);
    }
    assertEquals([ids.size, await h.usage()], [5, 5]);
  });
}

Harness.test("decision 5: a heartbeat's id may carry the other region", async (h) => {
  const response = await h.post("/v1/heartbeats", aHeartbeat(1, { id: runId(1, "us") }));
  assertEquals([response.status, response.json.id], [202, runId(1, "us")]);
  assertEquals((await h.get(`/v1/runs/${runId(1, "us")}`)).status, 200);
});

for (const [word, stored] of [["ok", "success"], ["fail", "failed"], ["timeout", "timeout"]]) {
  Harness.test(`decision 28: heartbeat ${word} answers ${word} and reads as ${stored}`, async (h) => {
    const response = await h.post("/v1/heartbeats", aHeartbeat(1, { status: word }));
    assertEquals([response.status, response.json.status], [202, word]);
    const run = (await h.getFinal(`/v1/runs/${runId(1)}`)).json;
    assertEquals([run.status, run.finished_at, run.cost.state], [stored, at(), "final"]);
  });
}

Harness.test("decisions 28 and 29: start reads as running and has no end, span or cost", async (h) => {
  const response = await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start", cost_usd: 2 }));
  assertEquals([response.status, response.json], [202, {
    id: runId(1),
    agent: "nightly",
    status: "start",
    started_at: at(),
    finished_at: null,
    received_at: at(),
    cost_usd: 0,
    duration_ms: null,
  }]);
  const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
  assertEquals([run.status, run.finished_at, run.duration_ms], ["running", null, null]);
  assertEquals(run.cost.state, "pending");
});

Harness.test("decision 8: null in every optional field counts as absent", async (h) => {
  const optional = [
    ..."id status started_at finished_at cost_usd model provider input_tokens".split(" "),
    ..."output_tokens cached_input_tokens duration_ms metadata customer_id feature".split(" "),
    "output",
  ];
  const nulls = Object.fromEntries(optional.map((name) => [name, null]));
  const response = await h.post("/v1/heartbeats", { agent: "nightly", ...nulls });
  assertEquals([response.status, response.json.status, response.json.cost_usd], [202, "ok", 0]);
  for (const body of [{}, { agent: null }]) {
    const refused = await h.post("/v1/heartbeats", body);
    const { error, field } = refused.json;
    assertEquals([refused.status, error, field], [400, "missing_field", "agent"]);
  }
});

const DURATIONS = [
  { name: "sent wins", fields: { duration_ms: 7, started_at: at(-900) }, ms: 7, flags: [] },
  {
    name: "both instants",
    fields: { started_at: at(-900), finished_at: at(-100) },
    ms: 800,
    flags: [],
  },
  { name: "start alone", fields: { started_at: at(-900) }, ms: 900, flags: [] },
  { name: "0 is a duration", fields: { duration_ms: 0, started_at: at(-900) }, ms: 0, flags: [] },
  {
    name: "a negative span is zero and flagged",
    fields: { started_at: at(0), finished_at: at(-1) },
    ms: 0,
    flags: ["negative_duration"],
  },
];

for (const { name, fields, ms, flags } of DURATIONS) {
  Harness.test(`decision 30, duration of a heartbeat: ${name}`, async (h) => {
    const response = await h.post("/v1/heartbeats", aHeartbeat(1, fields));
    assertEquals([response.status, response.json.duration_ms], [202, ms]);
    const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
    assertEquals([run.duration_ms, run.flags], [ms, flags]);
  });
}

const MINUTE = 60_000;
const SKEWS = [
  { name: "60 s early is none", fields: { finished_at: at(-MINUTE) }, skew: undefined },
  { name: "more than 60 s early", fields: { finished_at: at(-MINUTE - 1) }, skew: -MINUTE - 1 },
  { name: "60 s late is none", fields: { finished_at: at(MINUTE) }, skew: undefined },
  { name: "more than 60 s late", fields: { finished_at: at(MINUTE + 1) }, skew: MINUTE + 1 },
  { name: "a long job is no skew", fields: { started_at: at(-60 * MINUTE) }, skew: undefined },
  {
    name: "a start from a clock that is ahead",
    fields: { status: "start", started_at: at(2 * MINUTE) },
    skew: 2 * MINUTE,
  },
];

for (const { name, fields, skew } of SKEWS) {
  Harness.test(`decision 31, clock skew of a heartbeat: ${name}`, async (h) => {
    assertEquals((await h.post("/v1/heartbeats", aHeartbeat(1, fields))).status, 202);
    const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
    assertEquals(run.clock_skew_ms, skew);
  });
}

Harness.test("decision 12: instants are returned in one format, whatever format was sent", async (h) => {
  const response = await h.post(
    "/v1/heartbeats",
    aHeartbeat(1, { started_at: "2026-11-21T11:59:59+00:00", finished_at: "2026-11-21T12:00:00Z" }),
  );
  const { started_at, finished_at, duration_ms } = response.json;
  assertEquals([started_at, finished_at, duration_ms], [at(-1_000), at(), 1_000]);
  const again = await h.post(
    "/v1/heartbeats",
    aHeartbeat(1, { started_at: "2026-11-21T11:59:59.000999-00:00" }),
  );
  assertEquals([again.status, again.text], [200, response.text]);
});

Harness.test("decision 24: a heartbeat retry without started_at is a replay of the first", async (h) => {
  const first = await h.post("/v1/heartbeats", aHeartbeat(1));
  assertEquals(first.headers.get("idempotent-replayed"), null);
  const stored = await h.dump();
  h.nowMs += 3_600_000;
  for (
    const fields of [{}, { started_at: at() }, { status: "fail", cost_usd: 9, duration_ms: 9 }]
  ) {
    const again = await h.post("/v1/heartbeats", aHeartbeat(1, fields));
    assertEquals([again.status, again.text], [200, first.text]);
    assertEquals(again.headers.get("idempotent-replayed"), "true");
  }
  assertEquals(await h.dump(), stored);
  assertEquals(await h.usage(), 1);
});

Harness.test("decision 24: a retry after a restart of the service is still a replay", async (h) => {
  const first = await h.post("/v1/heartbeats", aHeartbeat(1, { cost_usd: 0.1 }));
  await h.restart();
  const again = await h.post("/v1/heartbeats", aHeartbeat(1));
  assertEquals([again.status, again.text], [200, first.text]);
});
