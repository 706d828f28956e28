/** `GET /v1/refusals`: wrong requests of a team's clients (R13). */
import { assert, assertEquals } from "@std/assert";
import { createRequestLimits } from "../../runtime/rate_limit.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness, NOON, oneInstance } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

const UA = { "User-Agent": "agentping-python/1.2" };
const PATH = "/v1/refusals";
const DAY_MS = 86_400_000;

function countOf({ counts }: { counts: { count: number }[] }): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

oneInstance.test("R13: a refused call is counted immediately, and listed with its code, field, agent, client and message", async (h) => {
  const refused = await h.post("/v1/runs", { ...aRun(1), started_at: "yesterday" }, {
    headers: UA,
  });
  assertEquals(refused.status, 400);
  const { status, json } = await h.get(PATH);
  assertEquals(status, 200);
  assertEquals(json, {
    counts: [{ day: "2026-11-21", code: "invalid_field", count: 1 }],
    latest: [{
      at: "2026-11-21T12:00:00.000Z",
      code: "invalid_field",
      field: "started_at",
      agent: aRun(1).agent,
      user_agent: "agentping-python/1.2",
      message: refused.json.message,
      request_id: refused.headers.get("x-request-id"),
      route: "POST /v1/runs",
    }],
  });
  assertEquals((await h.get(`${PATH}?hours=24`)).status, 400, "it has no parameters");
});

oneInstance.test("R13: each refused call of a team counts, whatever the reason", async (h) => {
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
  assertEquals(countOf(json), calls.length);
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

Harness.test("R13: calls without loss do not count: successes, reads of unknown ids, unknown credentials", async (h) => {
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
  assertEquals(json, { counts: [], latest: [] });
});

oneInstance.test("R13: a refusal is not written before its minute is over, and then reads the same", async (h) => {
  const before = await h.dump();
  for (let n = 0; n < 20; n++) await h.post("/v1/runs", { id: "x" }, { headers: UA });
  assertEquals(await h.dump(), before);
  const { text } = await h.get(PATH);
  await h.refusals.flush();
  assertEquals((await h.get(PATH)).text, text);
  const rows = (await h.dump()).filter((line) => !before.includes(line));
  assertEquals(rows.length, 1);
  assert(rows.every((line) => line.startsWith('[ "refusal"')), rows.join("\n"));
  await h.restart();
  assertEquals((await h.get(PATH)).text, text);
});

oneInstance.test("R13: a team sees only its own refusals", async (h) => {
  const other = await h.addTeam("business");
  await h.post("/v1/runs", { id: "x", agent: "secret" }, { key: other.key });
  for (const flush of [false, true]) {
    if (flush) await h.refusals.flush();
    const mine = await h.get(PATH);
    assertEquals(mine.json.counts, []);
    assert(!mine.text.includes("secret"));
    assertEquals(countOf((await h.get(PATH, { key: other.key })).json), 1);
  }
  const ingest = await h.addKey({ kind: "api_key", scopes: ["ingest"] });
  assertEquals((await h.get(PATH, { key: ingest })).status, 403);
});

Harness.test("R13: the response covers 7 UTC days", async (h) => {
  for (const daysAgo of [7, 6, 1, 0]) {
    h.nowMs = NOON - daysAgo * DAY_MS;
    await h.post("/v1/runs", { id: `x${daysAgo}` });
    await h.refusals.flush();
  }
  const { json } = await h.get(PATH);
  assertEquals(json.counts.map(({ day }: { day: string }) => day), [
    "2026-11-21",
    "2026-11-20",
    "2026-11-15",
  ]);
  assertEquals(json.latest.length, 3);
});

ofInstance("R13: a flood beyond the rate is counted, with one message", async () => {
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
  const counts = json.counts.map((
    { code, count }: { code: string; count: number },
  ) => [code, count]);
  assertEquals(counts, [["invalid_id", 260 - refused], ["rate_limit", refused]]);
  const codes = json.latest.map(({ code }: { code: string }) => code);
  assertEquals(codes.filter((code: string) => code === "rate_limit").length, 1);
});

oneInstance.test("R13: texts are cut and shown on one line", async (h) => {
  const headers = { "User-Agent": `sdk/${"9".repeat(500)}` };
  await h.post("/v1/runs", { ...aRun(1), agent: `a\u0007b${"x".repeat(500)}` }, { headers });
  const { latest } = (await h.get(PATH)).json;
  assertEquals([latest[0].user_agent.length, latest[0].agent], [128, null]);
  assert(latest[0].message.length <= 300);
});

Harness.test("R13: the sweep removes expired refusals of a team that is no longer refused", async (h) => {
  await h.post("/v1/runs", { id: "x" });
  await h.refusals.flush();
  const rows = async () => (await h.dump()).filter((line) => line.startsWith('[ "refusal"')).length;
  h.nowMs = NOON + 6 * DAY_MS;
  await h.sweep.sweepNow();
  assertEquals(await rows(), 1);
  h.nowMs = NOON + 8 * DAY_MS;
  await h.sweep.sweepNow();
  assertEquals(await rows(), 0);
});
