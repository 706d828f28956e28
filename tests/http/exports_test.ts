/** Exports: complete, generated at the client's pace, and never ended early without an error. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { parse } from "csv-parse";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { currentScope } from "../../kv/base/reads.ts";
import { aFinish, aHeartbeat, aRun, at, events, runId } from "../support/builders/requests.ts";
import { aRow, FakeRunList } from "../support/builders/exports.ts";
import { operate, OPERATOR_KEY } from "../support/harness/operator.ts";
import { signedIn } from "../support/harness/dashboard.ts";
import { ALL_SCOPES, Harness, NOON } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";
import type { RunListStore } from "../../kv/run_list/run_list.ts";
import { EXPORT_FORMS } from "../../routes/api/exports/exports.ts";
import { dollarsText, type Picodollars } from "../../domain/pricing/money.ts";
import type { RunListRow } from "../../domain/runs/list.ts";

const FORMS = ["ndjson", "csv"] as const;

/** Starts an export and leaves its body to the test. */
async function begin(h: Harness, path: string, key = h.key): Promise<Response> {
  const response = await fetch(h.url + path, { headers: { Authorization: `Bearer ${key}` } });
  assertEquals(response.status, 200);
  return response;
}

/** The lines of an export as NDJSON. */
function linesOf(text: string): Record<string, unknown>[] {
  assert(text.endsWith("\n"));
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Harness.test("exports: real runs in both formats, newest first, as in the list", async (h) => {
  await h.post("/v1/runs", aRun(1, { customer_id: "=cmd|'/c calc'!A1", feature: "a,b" }));
  await h.post(`/v1/runs/${runId(1)}/events`, { events: events(1, 3) });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  for (let n = 2; n < 5; n++) {
    const fields = { started_at: at(n), cost_usd: n / 1e12, metadata: {} };
    await h.post("/v1/heartbeats", aHeartbeat(n, fields));
  }
  const { runs } = (await h.getFinal("/v1/runs")).json;
  const ndjson = await h.get("/v1/runs.ndjson");
  assertEquals(ndjson.headers.get("content-type"), "application/x-ndjson");
  const lines = linesOf(ndjson.text);
  assertEquals(lines.pop(), { end: true, runs: 4 });
  assertEquals(lines.map((line) => ({ ...line, cost_usd: Number(line["cost_usd"]) })), runs);
  assertEquals(lines[0]?.["cost_usd"], "0.000000000004");
  const csv = await h.get("/v1/runs.csv");
  assertEquals(csv.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  const rows = parse<Record<string, string>>(csv.text, { columns: true });
  assertEquals(rows.map(({ id }) => id), runs.map(({ id }: { id: string }) => id));
  assertEquals(rows.map(({ cost_usd }) => cost_usd), lines.map(({ cost_usd }) => cost_usd));
  const last = rows.at(-1);
  assertEquals([last?.["customer_id"], last?.["feature"]], ["'=cmd|'/c calc'!A1", "a,b"]);
  assertEquals([last?.["events"], last?.["duration_ms"]], ["3", "5000"]);
});

Harness.test("exports: the filters of the list, without its default window", async (h) => {
  const old = new Date(NOON - 3 * 86_400_000).toISOString();
  await h.post("/v1/heartbeats", aHeartbeat(1, { agent: "a", cost_usd: 2, started_at: old }));
  await h.post("/v1/heartbeats", aHeartbeat(2, { agent: "b", cost_usd: 3, started_at: at() }));
  await h.post("/v1/heartbeats", aHeartbeat(3, { agent: "a", cost_usd: 0, started_at: at() }));
  await h.worker.idle();
  const idsOf = async (query: string) => {
    const lines = linesOf((await h.get(`/v1/runs.ndjson${query}`)).text).slice(0, -1);
    return lines.map(({ id }) => id);
  };
  assertEquals(await idsOf("?agent=a"), [runId(3), runId(1)]);
  assertEquals(await idsOf("?min_cost_usd=1"), [runId(2), runId(1)]);
  assertEquals(await idsOf(`?q=${runId(1).slice(-8)}`), [runId(1)]);
  assertEquals(await idsOf(`?from=${at(-1_000)}`), [runId(3), runId(2)]);
  assertEquals(await idsOf("?agent=nobody"), []);
  for (const form of FORMS) {
    const refused = await h.get(`/v1/runs.${form}?status=odd`);
    assertEquals([refused.status, refused.json.field], [400, "status"]);
  }
});

Deno.test("exports: the response has a file name, and HEAD does not create the export", async () => {
  const runList = new FakeRunList(10);
  await using h = await Harness.open({ deps: { runList } });
  for (const form of FORMS) {
    const { status, text, headers } = await h.request("HEAD", `/v1/runs.${form}`);
    assertEquals([status, text], [200, ""]);
    const name = `attachment; filename="runs-2026-11-21.${form}"`;
    assertEquals(headers.get("content-disposition"), name);
    assertMatch(headers.get("ratelimit") ?? "", /^"control"/);
  }
  assertEquals(runList.pagesRead, []);
});

Deno.test("exports: all of 6,000 runs, each once, in the order of the pages", async () => {
  const runList = new FakeRunList(6_000);
  await using h = await Harness.open({ deps: { runList } });
  const lines = linesOf((await h.get("/v1/runs.ndjson")).text);
  assertEquals(lines.pop(), { end: true, runs: 6_000 });
  assertEquals(lines.map(({ id }) => id), Array.from({ length: 6_000 }, (_, n) => runId(n)));
  const csv = parse((await h.get("/v1/runs.csv")).text, { columns: true });
  assertEquals(csv.length, 6_000);
});

Deno.test("exports: pages are read at the client's pace, and not after it disconnects", async () => {
  const runList = new FakeRunList(1_000_000);
  await using h = await Harness.open({ deps: { runList } });
  const { body } = await begin(h, "/v1/runs.ndjson");
  const reader = body?.getReader();
  await reader?.read();
  // Socket buffers accept some of it: a few of 2,000 pages.
  await untilStill(() => runList.pagesRead.length);
  assert(runList.pagesRead.length < 200, String(runList.pagesRead.length));
  await reader?.cancel();
  await untilStill(() => runList.pagesRead.length);
  assert(runList.pagesRead.length < 200, String(runList.pagesRead.length));
  // A disconnected client uses no slot: a team may have four concurrent exports.
  for (let n = 0; n < 5; n++) {
    const next = await begin(h, "/v1/runs.csv");
    await next.body?.cancel();
    await untilStill(() => runList.pagesRead.length);
  }
});

/** Waits until a count has not changed for a while. */
async function untilStill(count: () => number): Promise<void> {
  for (let last = -1; last !== count();) {
    last = count();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

ofInstance(
  "exports: a team has four concurrent exports, the fifth must retry; others are served",
  async () => {
    await using h = await Harness.open({ deps: { runList: new FakeRunList(1_000_000) } });
    const other = await h.addTeam("team");
    const open = [];
    for (let n = 0; n < 4; n++) open.push(await begin(h, "/v1/runs.csv"));
    const refused = await h.get("/v1/runs.ndjson");
    assertEquals([refused.status, refused.json.error], [503, "overloaded"]);
    assert(refused.headers.has("retry-after"));
    open.push(await begin(h, "/v1/runs.csv", other.key));
    // They do not count against the concurrency limit.
    assertEquals((await h.get("/v1/usage")).status, 200);
    for (const { body } of open) await body?.cancel();
  },
);

Deno.test("exports: an export aborts without an end if the store fails, and is logged", async () => {
  let pages = 0;
  const runList: RunListStore = {
    starts: () => Promise.resolve(null),
    page() {
      if (pages++ % 2 === 1) return Promise.reject(new StorageUnavailable("the disk is gone"));
      const rows = Array.from({ length: 500 }, (_, n) => aRow(n));
      return Promise.resolve({ rows, next: { at: 1, run: aRow(1).id }, searchedTo: null });
    },
  };
  await using h = await Harness.open({ deps: { runList } });
  for (const form of FORMS) {
    const { body, headers } = await begin(h, `/v1/runs.${form}`);
    let text = "";
    await assertRejects(async () => {
      for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) text += part;
    });
    assert(text.includes(runId(499)) && !text.includes('"end"'));
    const failure = h.log.map((line) => JSON.parse(line)).find(({ id, failure }) =>
      id === headers.get("x-request-id") && failure !== undefined
    );
    assertMatch(failure.failure, /the disk is gone/);
  }
});

Deno.test("exports: they abort when the service shuts down", async () => {
  await using h = await Harness.open({ deps: { runList: new FakeRunList(1_000_000) } });
  const { body } = await begin(h, "/v1/runs.ndjson");
  const reader = body?.getReader();
  await reader?.read();
  h.draining = true;
  await assertRejects(async () => {
    while (!(await reader?.read())?.done);
  });
});

/** Ways to start an export, and to revoke access to it. */
const REVOCATIONS: Readonly<
  Record<
    string,
    (h: Harness) => Promise<{
      readonly path: string;
      readonly headers: Record<string, string>;
      readonly revoke: () => Promise<unknown>;
    }>
  >
> = {
  "a key is revoked": async (h) => {
    const key = await h.addKey(ALL_SCOPES);
    const { keys } = (await h.get("/v1/keys")).json;
    const id = keys.find(({ name }: { name: string }) => name === "test").id;
    const revoke = () => h.request("DELETE", `/v1/keys/${id}`);
    return { path: "/v1/runs.ndjson", headers: { Authorization: `Bearer ${key}` }, revoke };
  },
  "a team is suspended": async (h) => {
    const { team, key } = await h.addTeam("team");
    const revoke = () => operate(h, "PATCH", `/v1/teams/${team.id}`, { suspended: true });
    return { path: "/v1/runs.csv", headers: { Authorization: `Bearer ${key}` }, revoke };
  },
  "a session is ended": async (h) => {
    const reader = await signedIn(h);
    const revoke = () => reader.send("/dashboard/sign-out");
    return { path: "/dashboard/runs.ndjson", headers: { Cookie: reader.cookie }, revoke };
  },
};

for (const [what, start] of Object.entries(REVOCATIONS)) {
  // Another instance may cache the credential.
  ofInstance(`M3: an export aborts when ${what}, and is not a failure`, async () => {
    const runList = new FakeRunList(1_000_000);
    await using h = await Harness.open({ deps: { runList }, operatorKey: OPERATOR_KEY });
    const { path, headers, revoke } = await start(h);
    const { status, body } = await fetch(h.url + path, { headers });
    assertEquals(status, 200);
    const reader = body?.getReader();
    await reader?.read();
    await untilStill(() => runList.pagesRead.length);
    assert([200, 204, 303].includes((await revoke() as { status: number }).status));
    const before = runList.pagesRead.length;
    await assertRejects(async () => {
      while (!(await reader?.read())?.done);
    });
    // An export in progress at that moment.
    assert(runList.pagesRead.length <= before + 1);
    assertEquals(h.log.filter((line) => line.includes("failure")), []);
  });
}

Deno.test("M3: the read of an export ends when its client disconnects", async () => {
  const reading = Promise.withResolvers<AbortSignal>();
  const runList: RunListStore = {
    starts: () => Promise.resolve(null),
    page() {
      const signal = currentScope()?.signal;
      assert(signal !== undefined);
      reading.resolve(signal);
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason))
      );
    },
  };
  await using h = await Harness.open({ deps: { runList } });
  const client = new AbortController();
  const headers = { Authorization: `Bearer ${h.key}` };
  const answer = await fetch(`${h.url}/v1/runs.csv`, { headers, signal: client.signal });
  const signal = await reading.promise;
  assertEquals(signal.aborted, false);
  const ended = new Promise((resolve) => signal.addEventListener("abort", resolve));
  client.abort();
  await ended;
  await assertRejects(() => answer.text());
  assertEquals(h.log.filter((line) => line.includes("failure")), []);
});

/** Reads a run's CSV as a table with named columns. */
function csvOf(row: RunListRow): Record<string, string> {
  const { head, line } = EXPORT_FORMS.csv;
  const [only = {}] = parse<Record<string, string>>(head + line(row), { columns: true });
  return only;
}

Deno.test("money: dollars as text are exact to the picodollar, however many there are", () => {
  const texts: [Picodollars, string][] = [
    [0n, "0"],
    [1n, "0.000000000001"],
    [6_400_000_000n, "0.0064"],
    [10_000_000_000_000n, "10"],
    [123_456_789_012_345_678_901_234_567_890n, "123456789012345678.90123456789"],
  ];
  for (const [amount, text] of texts) assertEquals(dollarsText(amount), text);
});

Deno.test("export: both formats agree on each run, with money exact to the picodollar", () => {
  const amount = 9_007_199_254_740_993_000_001n;
  const row = aRow(1, {
    agent: '=HYPERLINK("evil")',
    customerId: "Müller, Söhne & Co.",
    feature: null,
    cost: { ...aRow(1).cost, amount, unpricedModels: ["a", "b"], flags: ["cached_exceeds_input"] },
    has: ["unpriced", "late"],
  });
  const csv = csvOf(row);
  const json = JSON.parse(EXPORT_FORMS.ndjson.line(row));
  assertEquals([csv["cost_usd"], json.cost_usd], [
    "9007199254.740993000001",
    "9007199254.740993000001",
  ]);
  assertEquals([csv["agent"], json.agent], [`'=HYPERLINK("evil")`, '=HYPERLINK("evil")']);
  assertEquals([csv["customer_id"], json.customer_id], [row.customerId, row.customerId]);
  assertEquals([csv["feature"], json.feature], ["", null]);
  assertEquals([csv["unpriced_models"], json.cost.unpriced_models], ["a b", ["a", "b"]]);
  assertEquals([csv["has"], json.has], ["unpriced late", ["unpriced", "late"]]);
  assertEquals([csv["cost_flags"], json.cost.flags], ["cached_exceeds_input", [
    "cached_exceeds_input",
  ]]);
  for (const name of ["id", "kind", "status", "started_at", "finished_at", "received_at"]) {
    assertEquals(csv[name], json[name], name);
  }
  for (const [name, value] of Object.entries(json.usage)) {
    assertEquals(csv[name], String(value), name);
  }
});

Deno.test("export: a run without an opening has empty cells", () => {
  const row = aRow(1, { agent: null, startedAt: null, durationMs: null, flags: ["no_opening"] });
  const csv = csvOf(row);
  assertEquals([csv["agent"], csv["started_at"], csv["duration_ms"]], ["", "", ""]);
  assertEquals(csv["flags"], "no_opening");
});
