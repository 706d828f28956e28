/** `GET /v1/refusals`: wrong requests of a team's clients (R13). */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createRequestLimits } from "../../domain/teams/rate_limit.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

const UA = { "User-Agent": "agentping-python/1.2" };
const PATH = "/v1/refusals";
const HOUR_MS = 3_600_000;

/** Code, field, agent and count of each group. */
// deno-lint-ignore no-explicit-any -- a response
const rowsOf = (json: any) =>
  // deno-lint-ignore no-explicit-any -- a response
  json.groups.map(({ code, field, agent, count }: any) => [code, field, agent, count]);

ofInstance(
  "R13: a refused call is listed immediately, with its code, field, agent, client and message",
  async () => {
    await using h = await Harness.open();
    const refused = await h.post("/v1/runs", { ...aRun(1), started_at: "yesterday" }, {
      headers: UA,
    });
    assertEquals(refused.status, 400);
    const { status, json } = await h.get(PATH);
    assertEquals(status, 200);
    const kind = {
      code: "invalid_field",
      field: "started_at",
      agent: aRun(1).agent,
      user_agent: "agentping-python/1.2",
    };
    assertEquals(json, {
      from: "2026-11-20T13:00:00.000Z",
      to: "2026-11-21T12:00:00.000Z",
      count: 1,
      groups: [{ hour: "2026-11-21T12:00:00.000Z", ...kind, count: 1 }],
      latest: [{
        at: "2026-11-21T12:00:00.000Z",
        ...kind,
        message: refused.json.message,
        request_id: refused.headers.get("x-request-id"),
        route: "POST /v1/runs",
      }],
    });
  },
);

ofInstance("R13: each refused call of a team counts, whatever the reason", async () => {
  await using h = await Harness.open();
  const reader = await h.addKey({ kind: "api_key", scopes: ["read"] });
  const token = await h.addKey({ kind: "ping_token", agent: "nightly" });
  await h.post("/v1/runs", aRun(1));
  const gzip = { "Content-Encoding": "br" };
  const calls = [
    [400, () => h.post("/v1/runs", "{")],
    [409, () => h.post("/v1/runs", { ...aRun(1), agent: "other" })],
    [400, () => h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1, { type: "" })] })],
    [403, () => h.post("/v1/runs", aRun(2), { key: reader })],
    [401, () => h.get("/v1/runs", { key: token })],
    [400, () => h.get("/v1/ping?status=odd", { key: token })],
    [400, () => h.get("/v1/ping?agent=shell&status=odd")],
    [415, () => h.post("/v1/runs", "x", { headers: gzip })],
    [400, () => h.get("/v1/runs?statuss=failed")],
    [404, () => h.request("DELETE", `/v1/runs/${runId(9)}`)],
  ] as const;
  const expected: string[] = [];
  for (const [status, call] of calls) {
    const refused = await call();
    assertEquals(refused.status, status, refused.text);
    expected.push(refused.headers.get("x-error-code") ?? refused.json.error);
  }
  const { json } = await h.get(PATH);
  assertEquals(json.count, calls.length);
  const codes = json.latest.map(({ code }: { code: string }) => code);
  assertEquals(codes.toReversed(), expected);
  const agents = json.latest.map(({ agent }: { agent: string | null }) => agent);
  assertEquals(agents.toReversed().slice(1), [
    "other",
    null,
    // The scope is checked before the body is read.
    null,
    "nightly",
    "nightly",
    "shell",
    null,
    null,
    null,
  ]);
});

Deno.test("R13: calls without loss do not count: successes, reads of unknown ids, unknown credentials", async () => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  await h.post("/v1/heartbeats", aHeartbeat(2));
  await h.get(`/v1/runs/${runId(7)}`);
  await h.get("/v1/nothing");
  await h.request("PUT", "/v1/runs");
  await h.post("/v1/runs", aRun(1), { key: null });
  await h.post("/v1/runs", aRun(1), { key: `apk_eu_${"0".repeat(32)}` });
  await h.get("/dashboard/runs?min_cost_usd=much");
  const { json } = await h.get(PATH);
  assertEquals([json.count, json.groups, json.latest], [0, [], []]);
});

ofInstance(
  "R13: a refusal is not written before its minute is over, and then reads the same",
  async () => {
    await using h = await Harness.open();
    const before = await h.dump();
    for (let n = 0; n < 20; n++) await h.post("/v1/runs", { id: "x" }, { headers: UA });
    assertEquals(await h.dump(), before);
    const { text } = await h.get(PATH);
    await h.refusals.flush();
    assertEquals((await h.get(PATH)).text, text);
    const rows = (await h.dump()).filter((line) => !before.includes(line));
    assertEquals(rows.length, 2);
    assert(rows.every((line) => line.startsWith('[ "refusal"')), rows.join("\n"));
    await h.restart();
    assertEquals((await h.get(PATH)).text, text);
  },
);

ofInstance("R13: a team sees only its own refusals", async () => {
  await using h = await Harness.open();
  const other = await h.addTeam("business");
  await h.post("/v1/runs", { id: "x", agent: "secret" }, { key: other.key });
  for (const flush of [false, true]) {
    if (flush) await h.refusals.flush();
    const mine = await h.get(PATH);
    assertEquals(mine.json.count, 0);
    assert(!mine.text.includes("secret"));
    assertEquals((await h.get(PATH, { key: other.key })).json.count, 1);
  }
  const ingest = await h.addKey({ kind: "api_key", scopes: ["ingest"] });
  assertEquals((await h.get(PATH, { key: ingest })).status, 403);
});

Deno.test("R13: the response covers the requested hours", async () => {
  await using h = await Harness.open();
  for (const hoursAgo of [200, 100, 20, 0]) {
    h.nowMs = NOON - hoursAgo * HOUR_MS;
    await h.post("/v1/runs", { id: `x${hoursAgo}` });
    await h.refusals.flush();
  }
  const counts: number[] = [];
  for (const query of ["", "?hours=1", "?hours=20", "?hours=21", "?hours=168"]) {
    counts.push((await h.get(PATH + query)).json.count);
  }
  assertEquals(counts, [2, 1, 1, 2, 3]);
  for (const hours of ["0", "169", "-1", "1.5", "x", "1000"]) {
    const { status, json } = await h.get(`${PATH}?hours=${hours}`);
    assertEquals([status, json.field], [400, "hours"], hours);
    assertStringIncludes(json.message, "from 1 to 168");
  }
});

ofInstance("R13: a flood beyond the rate is one kind, with one message", async () => {
  let ms = 0;
  await using h = await Harness.open({
    tier: "free",
    deps: { limits: createRequestLimits(() => ms) },
  });
  let refused = 0;
  for (let n = 0; n < 260; n++) {
    const { status } = await h.post("/v1/runs", { id: "x" });
    if (status === 429) refused++;
  }
  ms = 60_000;
  const { json } = await h.get(PATH);
  assert(refused > 50);
  assertEquals(rowsOf(json).find(([code]: [string]) => code === "rate_limit"), [
    "rate_limit",
    null,
    null,
    refused,
  ]);
  const codes = json.latest.map(({ code }: { code: string }) => code);
  assertEquals(codes.filter((code: string) => code === "rate_limit").length, 1);
});

ofInstance("R13: texts are cut and shown on one line", async () => {
  await using h = await Harness.open();
  const headers = { "User-Agent": `sdk/${"9".repeat(500)}` };
  await h.post("/v1/runs", { ...aRun(1), agent: `a\u0007b${"x".repeat(500)}` }, { headers });
  const { latest } = (await h.get(PATH)).json;
  assertEquals([latest[0].user_agent.length, latest[0].agent], [128, null]);
  assert(latest[0].message.length <= 300);
});

Deno.test("R13: the sweep removes expired refusals of a team that is no longer refused", async () => {
  await using h = await Harness.open();
  await h.post("/v1/runs", { id: "x" });
  await h.refusals.flush();
  const rows = async () => (await h.dump()).filter((line) => line.startsWith('[ "refusal"')).length;
  h.nowMs = NOON + 6 * 24 * HOUR_MS;
  await h.sweep.sweepNow();
  assertEquals(await rows(), 2);
  h.nowMs = NOON + 8 * 24 * HOUR_MS;
  await h.sweep.sweepNow();
  assertEquals(await rows(), 0);
});
