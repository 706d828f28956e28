/** `GET /v1/runs`: its rows, its filters and its pages. */
import { assert, assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { put } from "../support/builders/rate_cards.ts";

const DAY_MS = 86_400_000;

async function numbersOf(h: Harness, query: string): Promise<number[]> {
  const { status, json, text } = await h.getFinal(`/v1/runs?${query}`);
  assertEquals(status, 200, text);
  return json.runs.map(({ id }: { id: string }) => Number(`0x${id.slice(-8)}`));
}

function aCall(n: number, model: string, input_tokens: number) {
  return anEvent(n, { type: "llm_call", data: { provider: "acme", model, input_tokens } });
}

Harness.test("run list: a row agrees with the run's record and its filterable fields", async (h) => {
  await put(h, {
    provider: "acme",
    model: "atlas",
    input_usd_per_million: 1,
    output_usd_per_million: 1,
  });
  const labels = { customer_id: "acme", feature: "search" };
  await h.post("/v1/runs", aRun(1, { ...labels, metadata: { a: 1 }, goal: "g" }));
  const events = [aCall(1, "atlas", 1_000), aCall(2, "unknown", 5)];
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ finished_at: at(-1), output: { x: 1 } }));
  await h.worker.idle();
  h.nowMs += 5;
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(3)] });
  const record = (await h.getFinal(`/v1/runs/${runId(1)}`)).json;
  const { runs: [row], ...page } = (await h.get("/v1/runs")).json;
  const { has, ...same } = row;
  assertEquals(has, ["unpriced", "late"]);
  assertEquals(same.flags, ["negative_duration"]);
  assertEquals([same.cost_usd, same.cost.state, same.cost.revision], [0.001, "final", 2]);
  for (const [name, value] of Object.entries(same)) assertEquals(value, record[name], name);
  const remaining = Object.keys(record).filter((name) => !(name in same));
  assertEquals(remaining, [
    "updated_at",
    "metadata",
    "goal",
    "output",
    "note",
    "cost_with_children_usd",
    "scores",
    "events",
    "events_cursor",
    "checks",
    "judge_results",
    "incidents",
    "links",
    "processing",
  ]);
  assertEquals(page, {
    cursor: null,
    window: { from: null, to: null, defaulted: false },
    searched_to: null,
  });
});

Harness.test("run list: each filter finds its runs, and filters combine", async (h) => {
  await put(h, {
    provider: "acme",
    model: "atlas",
    input_usd_per_million: 1,
    output_usd_per_million: 1,
  });
  await h.post("/v1/runs", aRun(1, { customer_id: "c", started_at: at(-2 * DAY_MS) }));
  await h.post("/v1/runs", aRun(2, { feature: "f", started_at: at(-1) }));
  await h.post(`/v1/runs/${runId(2)}/events`, { events: [aCall(1, "atlas", 2_000_000)] });
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish({ status: "cancelled" }));
  await h.post(
    "/v1/heartbeats",
    aHeartbeat(3, { customer_id: "c", status: "fail", cost_usd: 0.3 }),
  );
  await h.post("/v1/heartbeats", aHeartbeat(4, { model: "unknown", input_tokens: 1 }));
  await h.post(`/v1/runs/${runId(5)}/finish`, aFinish());
  const expected: [query: string, numbers: number[]][] = [
    ["", [4, 3, 2, 1]],
    ["agent=researcher", [2, 1]],
    ["agent=nobody", []],
    ["customer_id=c", [3, 1]],
    ["customer_id=c&agent=nightly", [3]],
    ["customer_id=(unattributed)", [4, 2]],
    ["customer_id=(unattributed)&from=2026-01-01&kind=run", [2]],
    ["feature=f", [2]],
    ["status=running", [1]],
    ["status=failed", [3]],
    ["status=success", [4]],
    ["status=cancelled&kind=run&agent=researcher&feature=f&model=atlas&min_cost_usd=2", [2]],
    ["kind=heartbeat", [4, 3]],
    ["model=atlas", [2]],
    ["model=atlas&provider=acme", [2]],
    ["model=atlas&provider=other", []],
    ["model=unknown&provider=(unattributed)", [4]],
    ["has=unpriced", [4]],
    ["has=late", []],
    ["has=failed_check", []],
    ["has=judged", []],
    ["has=orphan", [5]],
    ["has=orphan&status=success", [5]],
    ["has=orphan&status=failed", []],
    ["min_cost_usd=0", [4, 3, 2, 1]],
    ["min_cost_usd=0.3", [3, 2]],
    ["min_cost_usd=0.300000000001", [2]],
    ["min_cost_usd=2", [2]],
    ["min_cost_usd=1000000", []],
    ["from=2026-11-21", [4, 3, 2]],
    ["to=2026-11-20", [1]],
    [`to=${at()}`, [2, 1]],
    [`from=${at(-1)}&to=${at()}`, [2]],
    [`q=${runId(1)}`, [1]],
    [`q=${runId(1)}&status=failed`, []],
    [`q=${runId(9)}`, []],
    ["q=0004", [4]],
    // A partial id is searched in the last day by default.
    ["q=0001", []],
    ["q=0001&from=2026-11-01", [1]],
    ["limit=2", [4, 3]],
  ];
  for (const [query, numbers] of expected) assertEquals(await numbersOf(h, query), numbers, query);
});

Harness.test("run list: pages continue where the previous one ended, and a default window stays fixed", async (h) => {
  for (let n = 1; n <= 7; n++) {
    await h.post("/v1/runs", aRun(n, { started_at: at(n < 3 ? 0 : n) }));
  }
  const pages: number[][] = [];
  const windows = new Set<string>();
  let cursor: string | null = "";
  while (cursor !== null) {
    const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const { json, text } = await h.getFinal(`/v1/runs?limit=3&q=000${more}`);
    assert(Array.isArray(json.runs), text);
    pages.push(json.runs.map(({ id }: { id: string }) => Number(id.slice(-2))));
    windows.add(JSON.stringify(json.window));
    cursor = json.cursor;
    // The clock advances, and with it the end of the last 24 hours; so do the runs.
    h.nowMs += DAY_MS / 2;
    await h.post("/v1/runs", aRun(90 + pages.length, { started_at: at(h.nowMs - NOON) }));
  }
  assertEquals(pages, [[7, 6, 5], [4, 3, 2], [1]]);
  assertEquals([...windows], [JSON.stringify({ from: at(-DAY_MS), to: null, defaulted: true })]);
});

Harness.test("run list: runs named by their ids are sorted and paged like others", async (h) => {
  const other = await h.addTeam("free");
  for (let n = 1; n <= 5; n++) await h.post("/v1/runs", aRun(n, { started_at: at(n) }));
  await h.post("/v1/runs", aRun(6), { key: other.key });
  const named = [2, 5, 4, 2, 6, 99].map((n) => `run=${runId(n)}`).join("&");
  assertEquals(await numbersOf(h, named), [5, 4, 2]);
  assertEquals(await numbersOf(h, `${named}&to=${at(5)}`), [4, 2]);
  const first = (await h.getFinal(`/v1/runs?${named}&limit=2`)).json;
  assertEquals(first.runs.map(({ id }: { id: string }) => id), [runId(5), runId(4)]);
  assertEquals(await numbersOf(h, `${named}&limit=2&cursor=${first.cursor}`), [2]);
  for (const wrong of ["run=7", `${named}&run=x`, Array(201).fill(`run=${runId(1)}`).join("&")]) {
    const { status, json } = await h.get(`/v1/runs?${wrong}`);
    assertEquals([status, json.field], [400, "run"]);
  }
});

/** Returns the numbers of the runs that a query finds, newest first. */
async function matching(h: Harness, query: string): Promise<number[]> {
  const { status, json } = await h.get(`/v1/runs?${query}`);
  assertEquals(status, 200, `${query}: ${JSON.stringify(json)}`);
  return json.runs.map(({ id }: { id: string }) => Number(`0x${id.slice(-8)}`));
}

/** Stores a run that starts `n` seconds before noon, and ends it. */
async function store(
  h: Harness,
  n: number,
  open: Record<string, unknown>,
  finish: Record<string, unknown> = {},
): Promise<void> {
  const started = at(-n * 1_000);
  await h.post("/v1/runs", aRun(n, { started_at: started, ...open }));
  await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ finished_at: at(), ...finish }));
}

Harness.test("run filters: of several values a run has one, of unwanted ones none", async (h) => {
  await store(h, 1, { agent: "a", customer_id: "acme" });
  await store(h, 2, { agent: "b", customer_id: "globex" }, { status: "failed" });
  await store(h, 3, { agent: "c" }, { status: "timeout" });
  await h.worker.idle();
  assertEquals(await matching(h, "agent=a&agent=c"), [1, 3]);
  assertEquals(await matching(h, "status=failed&status=timeout"), [2, 3]);
  assertEquals(await matching(h, "customer_id=acme&customer_id=(unattributed)"), [1, 3]);
  assertEquals(await matching(h, "not_agent=a&not_agent=b"), [3]);
  assertEquals(await matching(h, "not_status=success&not_customer_id=globex"), [3]);
  assertEquals(await matching(h, "not_customer_id=(unattributed)"), [1, 2]);
  assertEquals(await matching(h, "agent=a&not_agent=a"), []);
});

Harness.test("run filters: models, several of them or none of them", async (h) => {
  for (const [n, model] of [[1, "atlas"], [2, "nova"], [3, "ion"]] as const) {
    await h.post("/v1/heartbeats", aHeartbeat(n, { model, input_tokens: 1, started_at: at(-n) }));
  }
  await h.worker.idle();
  assertEquals(await matching(h, "model=atlas&model=ion"), [1, 3]);
  assertEquals(await matching(h, "not_model=atlas"), [2, 3]);
});

Harness.test("run filters: duration, labels and scores, also those added later", async (h) => {
  const scored = { scores: { helpful: 0.4, safe: true } };
  await store(h, 1, { metadata: { env: "production", tries: 2 } }, scored);
  await store(h, 5, { metadata: { env: "staging" } }, { scores: { helpful: 0.9 } });
  await store(h, 60, {}, { metadata: { env: "production" } });
  await h.post("/v1/runs", aRun(90, { started_at: at(-90_000) }));
  await h.post(`/v1/runs/${runId(60)}/scores`, {
    id: `scr_eu_${"1".padStart(32, "0")}`,
    name: "helpful",
    value: 0.5,
  });
  await h.worker.idle();
  assertEquals(await matching(h, "min_duration_ms=5000"), [5, 60]);
  assertEquals(await matching(h, "min_duration_ms=1000&max_duration_ms=5000"), [1, 5]);
  assertEquals(await matching(h, "metadata=env=production"), [1, 60]);
  assertEquals(await matching(h, "metadata=env%3Dproduction&metadata=env%3Dstaging"), [1, 5, 60]);
  assertEquals(await matching(h, "metadata=env=production&metadata=tries=2"), [1]);
  assertEquals(await matching(h, "not_metadata=env=production"), [5, 90]);
  assertEquals(await matching(h, "max_score=helpful=0.5"), [1, 60]);
  assertEquals(await matching(h, "min_score=helpful=0.5&max_score=helpful=0.8"), [60]);
  assertEquals(await matching(h, "min_score=safe=1"), [1]);
});

Harness.test("run filters: texts are found in goal, output and error, whatever their case", async (h) => {
  await store(h, 1, { goal: "Where is my REFUND?" });
  await store(h, 2, {}, { output: { answer: "refund „sent“", code: "\u00e9" } });
  const ledger = { output: { error: { message: "502 from the ledger" } } };
  await store(h, 3, { goal: "Refund" }, { status: "failed", ...ledger });
  await h.worker.idle();
  assertEquals(await matching(h, "text=refund"), [1, 2, 3]);
  assertEquals(await matching(h, "text=REFUND&status=failed"), [3]);
  assertEquals(await matching(h, "text=%C3%A9"), [2]);
  assertEquals(await matching(h, "error=502"), [3]);
  assertEquals(await matching(h, `text=${runId(2)}`), [2]);
  assertEquals(await matching(h, `text=${runId(2)}&not_status=success`), []);
  assertEquals(await matching(h, "text=00000003"), [3]);
});

Harness.test("run filters: root runs have no parent, or one that is not stored", async (h) => {
  await store(h, 1, {});
  await store(h, 2, { parent_run_id: runId(1) });
  await store(h, 3, { parent_run_id: runId(99) });
  await h.worker.idle();
  assertEquals(await matching(h, "root=true"), [1, 3]);
  assertEquals(await matching(h, "root=false"), [1, 2, 3]);
});

Harness.test("run filters: a run is unusual from twice the median of its agent's runs", async (h) => {
  for (const n of [1, 2, 3, 4, 5]) await store(h, 10 * n, { agent: "a" });
  await store(h, 61, { agent: "a" });
  await store(h, 600, { agent: "seldom" });
  await h.worker.idle();
  // The median of 10, 20, 30, 40, 50 and 61 s is 40 s.
  assertEquals(await matching(h, "unusual=slow"), []);
  await store(h, 81, { agent: "a" });
  await h.worker.idle();
  assertEquals(await matching(h, "unusual=slow"), [81]);
  assertEquals(await matching(h, "unusual=expensive"), []);
});

Harness.test("run filters: a period ends now, and a start replaces it", async (h) => {
  const hours = (n: number) => at(-n * 3_600_000);
  for (const n of [0, 2, 30]) {
    await h.post(
      "/v1/heartbeats",
      aHeartbeat(n + 1, { started_at: hours(n), finished_at: hours(n) }),
    );
  }
  await h.worker.idle();
  assertEquals(await matching(h, "since=1h"), [1]);
  assertEquals(await matching(h, "since=24h"), [1, 3]);
  assertEquals(await matching(h, "since=1h&from=2026-01-01"), [1, 3, 31]);
});

Harness.test("run filters: pages of a search have each run once, and exports have the same runs", async (h) => {
  for (let n = 1; n <= 25; n++) await store(h, n, { goal: n % 2 === 0 ? "even" : "odd" });
  await h.worker.idle();
  const listed: string[] = [];
  let cursor = "";
  for (let pages = 1; pages === 1 || cursor !== ""; pages++) {
    const { json } = await h.get(`/v1/runs?text=even&limit=5${cursor}`);
    listed.push(...json.runs.map(({ id }: { id: string }) => id));
    cursor = json.cursor === null ? "" : `&cursor=${json.cursor}`;
  }
  assertEquals(listed, Array.from({ length: 12 }, (_, i) => runId(2 * i + 2)));
  const csv = (await h.get("/v1/runs.csv?text=even")).text;
  assertEquals(listed.filter((id) => csv.includes(id)), listed);
  assertEquals(csv.includes(runId(1)), false);
});
