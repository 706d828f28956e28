/** Payload is lenient: calls of careless clients are stored, and every loss is shown. */
import { assert, assertEquals } from "@std/assert";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  aScore,
  at,
  eventId,
  runId,
} from "../support/builders/requests.ts";
import { type Answer, Harness, NOON } from "../support/harness/harness.ts";
import { bodyOf, readFile, type Row } from "./bad_requests/rows.ts";

const RUN = `/v1/runs/${runId(1)}`;
const DAY_MS = 86_400_000;

const dropped = ({ headers }: Answer) => headers.get("runledger-dropped");
const ignored = ({ headers }: Answer) => headers.get("runledger-ignored");

/** Headers of an official SDK. */
const SDK = { headers: { "User-Agent": "agentping-laravel/0.1.0" } };

Harness.test("R1: PHP's empty arrays are stored as empty objects, from any client", async (h) => {
  for (const [n, options] of [[1, SDK], [2, {}]] as const) {
    const path = `/v1/runs/${runId(n)}`;
    const { id, ...event } = anEvent(n, { type: "checkpoint", data: [] });
    const answers = [
      await h.post("/v1/runs", aRun(n, { metadata: [] }), options),
      await h.post(`${path}/events`, { events: [{ ...event, external_id: id }] }, options),
      await h.post(`${path}/finish`, aFinish({ output: [], scores: [], metadata: [] }), options),
    ];
    for (const answer of answers) {
      assertEquals([answer.status, dropped(answer), ignored(answer)], [202, null, null]);
    }
    const run = (await h.get(path)).json;
    assertEquals([run.status, run.output, run.scores, run.events[0].data], ["success", {}, [], {}]);
    assertEquals([run.metadata, run.flags], [{}, []]);
  }
});

Harness.test("R2: any JSON value is an output, returned, read and listed on the page as sent", async (h) => {
  const values = [["a", "b"], "it is done", 7, 1.5, false, true, [[]], { a: [] }, "", 0];
  for (const [n, output] of values.entries()) {
    const finish = await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ output }));
    assertEquals([finish.status, finish.json.output], [202, output]);
    const beat = await h.post("/v1/heartbeats", aHeartbeat(100 + n, { output }));
    assertEquals([beat.status, dropped(beat)], [202, null]);
    for (const id of [n, 100 + n]) {
      assertEquals((await h.get(`/v1/runs/${runId(id)}`)).json.output, output);
    }
  }
});

Harness.test("R3: a log's message of any type is stored as sent, and invalid turns are dropped", async (h) => {
  const messages = [{ a: 1 }, 5, null, ["x"], true];
  const input = messages.map((message, n) => anEvent(n, { data: { message }, turn: n - 1 }));
  const answer = await h.post(`${RUN}/events`, { events: input });
  assertEquals([answer.status, answer.json.accepted, dropped(answer)], [202, 5, "turn=2"]);
  const { events } = (await h.get(RUN)).json;
  assertEquals(events.map(({ data }: { data: unknown }) => data), input.map(({ data }) => data));
  assertEquals(events.map(({ turn = null }) => turn), [null, null, 1, 2, 3]);
});

Harness.test("R8, R9: an opening with odd labels and links is stored and priced for its customer", async (h) => {
  const odd = { customer_id: 12345, feature: true, parent_run_id: "", idle_timeout_seconds: 30 };
  const headers = { traceparent: "00-nonsense" };
  const answer = await h.post("/v1/runs", aRun(1, odd), { headers });
  const reported = "parent_run_id=1, idle_timeout_seconds=1, traceparent=1";
  assertEquals([answer.status, dropped(answer)], [202, reported]);
  const run = (await h.getFinal(RUN)).json;
  assertEquals([run.customer_id, run.feature], ["12345", "true"]);
  assertEquals([run.links, run.flags], [{ parent: null, children: [] }, ["dropped_fields"]]);
  assertEquals((await h.get("/v1/runs?customer_id=12345")).json.runs.length, 1);
});

Harness.test("R11, R25: unknown fields of every ingest call are reported, flagged and not stored", async (h) => {
  const answers = [
    await h.post("/v1/runs", aRun(1, { statuss: "x", goal: "g" })),
    await h.post(`${RUN}/events`, { events: [anEvent(1, { turns: 1 })], sdk: 1 }),
    await h.post(`${RUN}/finish`, aFinish({ error: "x" })),
    await h.post("/v1/heartbeats", aHeartbeat(2, { durationMs: 5 })),
    await h.post(`${RUN}/scores`, aScore(1, { comment: "c" })),
    await h.get("/v1/ping?agent=a&exitcode=1&key="),
  ];
  assertEquals(answers.map(({ status }) => status), [202, 202, 202, 202, 202, 200]);
  const actual = ["statuss", "sdk, turns", "error", "durationMs", "comment", "exitcode"];
  assertEquals(answers.map(ignored), actual);
  assertEquals(answers.map(dropped), Array(6).fill(null));
  const { json: run, text } = await h.get(RUN);
  assertEquals([run.flags, run.ignored], [["ignored_fields"], ["error", "statuss"]]);
  assertEquals(run.events[0].ignored, ["turns", "sdk"]);
  assert(!/"(statuss|turns|sdk|comment)":/.test(text));
  const ids = [runId(2), answers[5]?.headers.get("x-run-id")];
  const others = await Promise.all(ids.map(async (id) => (await h.get(`/v1/runs/${id}`)).json));
  assertEquals(others.map(({ flags, ignored }) => [flags, ignored]), [
    [["ignored_fields"], ["durationMs"]],
    [["ignored_fields"], ["exitcode"]],
  ]);
  const { runs } = (await h.getFinal("/v1/runs")).json;
  assertEquals(
    runs.map(({ flags }: { flags: string[] }) => flags),
    Array(3).fill(["ignored_fields"]),
  );
});

Harness.test("R14: a run that starts far in the future is flagged and listed by its arrival", async (h) => {
  const future = at(400 * DAY_MS);
  await h.post("/v1/runs", aRun(1, { started_at: future }));
  h.nowMs += 1_000;
  await h.post("/v1/runs", aRun(2, { started_at: at(1_000) }));
  await h.post("/v1/runs", aRun(3, { started_at: at(1_000 + DAY_MS) }));
  await h.post(
    "/v1/heartbeats",
    aHeartbeat(4, { started_at: at(2_000), finished_at: at(3_000), cost_usd: 1 }),
  );
  await h.post("/v1/heartbeats", aHeartbeat(5, { started_at: future, cost_usd: 2 }));
  const run = (await h.getFinal(RUN)).json;
  assertEquals([run.started_at, run.flags], [future, ["future_start"]]);
  const rows: { id: string; flags: string[] }[] = (await h.get("/v1/runs")).json.runs;
  const order = [3, 4, 5, 2, 1].map((n) => runId(n));
  assertEquals(rows.map(({ id }) => id), order);
  assertEquals(rows.map(({ flags }) => flags.length), [0, 0, 2, 0, 1]);
  // The range agrees with the list and the spend of that day.
  const day = `from=${at(-1)}&to=${at(3_000)}`;
  const inRange = (await h.get(`/v1/runs?${day}`)).json.runs;
  assertEquals(inRange.map(({ id }: { id: string }) => id), order.slice(1));
  const one = (await h.get(`/v1/runs?q=${runId(1)}&${day}`)).json.runs;
  assertEquals(one.length, 1);
  const spend = (await h.get("/v1/spend?group_by=day")).json;
  assertEquals(spend.totals.cost_usd, 3);
  const [agent] = (await h.get("/v1/agents")).json.agents.filter(
    ({ agent }: { agent: string }) => agent === aRun(1).agent,
  );
  assertEquals(agent.last_run_id, runId(3));
  assertEquals((await verifyStore(h.store)).differences, []);
});

Harness.test("R17: score events are scores of the run, stored and counted once", async (h) => {
  const score = (n: number, data: unknown) => anEvent(n, { type: "score", data });
  const batch = [
    score(1, { name: "quality", value: 0.9 }),
    score(2, { name: "good", value: true }),
    score(3, { name: "text", value: "high" }),
  ];
  for (const accepted of [3, 0]) {
    const answer = await h.post(`${RUN}/events`, { events: batch });
    assertEquals([answer.status, answer.json.accepted, dropped(answer)], [202, accepted, null]);
  }
  assertEquals(await h.usage(), 3);
  await h.post(`${RUN}/scores`, aScore(1));
  const { scores, usage } = (await h.getFinal(RUN)).json;
  assertEquals(usage.events, 3);
  const fromEvents = [[1, "quality", 0.9], [2, "good", true]] as const;
  assertEquals(
    scores.slice(0, 2),
    fromEvents.map(([n, name, value]) => ({
      name,
      value,
      source: "event",
      id: eventId(n),
      received_at: at(),
    })),
  );
  assertEquals(scores.length, 3);
  assertEquals((await verifyStore(h.store)).differences, []);
});

Harness.test("R17: scores beyond a run's limit stay events, and are reported and flagged", async (h) => {
  const batch = (from: number, count: number) =>
    Array.from(
      { length: count },
      (_, n) => anEvent(from + n, { type: "score", data: { name: `s${n}`, value: n } }),
    );
  for (let from = 0; from < 200; from += 50) {
    assertEquals(dropped(await h.post(`${RUN}/events`, { events: batch(from, 50) })), null);
  }
  const more = await h.post(`${RUN}/events`, { events: batch(200, 3) });
  assertEquals([more.status, more.json.accepted, dropped(more)], [202, 3, "scores=3"]);
  const run = (await h.getFinal(RUN)).json;
  assertEquals([run.scores.length, run.usage.events], [200, 203]);
  assertEquals(run.flags, ["dropped_fields", "no_opening"]);
  assertEquals((await verifyStore(h.store)).differences, []);
});

Harness.test("R19: instants with offsets are stored and returned in UTC", async (h) => {
  const input = new Date(NOON + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
  const opened = await h.post("/v1/runs", aRun(1, { started_at: input }));
  assertEquals([opened.status, opened.json.started_at], [202, at()]);
  const again = await h.post("/v1/runs", aRun(1, { started_at: at().toLowerCase() }));
  assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, "true"]);
  const ping = await h.get(`/v1/ping?agent=a&id=${runId(2)}&started_at=${input}`);
  assertEquals(ping.status, 200, "also with a plus that is not percent-encoded");
  assertEquals((await h.get(`/v1/runs/${runId(2)}`)).json.started_at, at());
  await h.worker.idle();
  const from = encodeURIComponent(input);
  assertEquals((await h.get(`/v1/runs?from=${from}`)).json.runs.length, 2);
});

Harness.test("R19: an instant in a query may have lower-case letters as well", async (h) => {
  await h.post("/v1/runs", aRun(1));
  for (const path of ["/v1/runs", "/v1/spend"]) {
    const from = encodeURIComponent(at(-1).toLowerCase());
    assertEquals((await h.get(`${path}?from=${from}`)).status, 200, path);
  }
});

/** A call that is stored although its payload is invalid. */
interface OddRow extends Pick<Row, "name" | "method" | "path" | "body" | "text" | "batch"> {
  /** `Runledger-Dropped` of the response; null for none. */
  readonly dropped: string | null;
  /** `flags` of the record. */
  readonly flags: readonly string[];
}

const ROWS_MIN = 70;
/** Ids of runs in rows: each row has its own run. */
const SENT_ID = /run_eu_0{28}(?:0064|0001)/;

Deno.test("R1 to R9, R19: no odd payload loses a call, and every loss is reported and flagged", async () => {
  const rows = readFile<OddRow>(new URL("odd_payloads.jsonl", import.meta.url));
  assert(rows.length >= ROWS_MIN, `only ${rows.length} rows`);
  await using h = await Harness.open();
  for (const [n, row] of rows.entries()) {
    const id = runId(1_000 + n);
    const own = JSON.parse(JSON.stringify(row).replace(SENT_ID, id)) as OddRow;
    const answer = await h.request(own.method, own.path, { body: bodyOf(own) });
    assertEquals(answer.status, own.method === "GET" ? 200 : 202, `${row.name}: ${answer.text}`);
    assertEquals(answer.headers.get("runledger-dropped"), row.dropped, row.name);
    const record = await h.get(`/v1/runs/${answer.headers.get("x-run-id") ?? id}`);
    const flags = record.json.flags.filter((flag: string) => flag !== "no_opening");
    assertEquals(flags, row.flags, row.name);
  }
});
