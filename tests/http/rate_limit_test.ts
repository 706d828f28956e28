/** Rates of requests and of bytes, and costs of reads, over sockets (decisions 36 and 37). */
import { fixture } from "../support/harness/fixture.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseList } from "structured-headers";
import type { Team } from "../../domain/teams/team.ts";
import type { TokenBucket } from "../../runtime/rate_limit.ts";
import type { Tier } from "../../domain/teams/plans.ts";
import { aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import { get, RawSocket } from "../support/harness/raw_socket.ts";
import { setTeamRate } from "../support/builders/teams.ts";
import { signedIn } from "../support/harness/dashboard.ts";
import { EVENTS_BODY_BYTES_MAX } from "../../domain/core/limits.ts";

/** A service whose rate limit has its own clock, with access to its buckets. */
async function open(tier: Tier = "free") {
  const clock = { ms: 0 };
  const h = await Harness.open({ tier, rateClock: () => clock.ms });
  const bucket = (
    team: Team = h.team,
    api: "ingest" | "control" | "bytes" = "ingest",
  ): TokenBucket => {
    const result = h.limits[api].bucketOf(team, clock.ms);
    if (result === null) throw new Error(`${team.tier} has no bucket`);
    return result;
  };
  /** Takes tokens as requests do; one request over a socket takes a thousand times as long. */
  const take = async (count: number, from: TokenBucket = bucket()) => {
    await Promise.all(Array.from({ length: count }, () => from.request(clock.ms, () => {})));
  };
  return { h, clock, bucket, take, [Symbol.asyncDispose]: () => h[Symbol.asyncDispose]() };
}

/** Both headers as any client reads them; `null` if absent. */
function rateHeaders({ headers }: Answer) {
  const [policy, rate] = ["ratelimit-policy", "ratelimit"].map((name) => headers.get(name));
  if (policy === null && rate === null) return null;
  const read = (text: string | null | undefined): Record<string, unknown> => {
    const items = parseList(text ?? "");
    assertEquals(items.length, 1);
    const [name, parameters] = items[0] as [string, Map<string, unknown>];
    return { name, ...Object.fromEntries(parameters) };
  };
  return [read(policy), read(rate)];
}

const sendRequest = (h: Harness, key = h.key) => h.get(`/v1/ping?agent=a&id=${runId(1)}`, { key });
const wait = ({ headers }: Answer) => headers.get("retry-after");

Deno.test("decision 37: every authenticated response reports its policy and the remaining tokens", async () => {
  await using t = await open("business");
  const answers = [
    await t.h.post("/v1/runs", aRun(1)),
    await t.h.post("/v1/runs", aRun(1)),
    await t.h.post("/v1/runs", aRun(1, { agent: "other" })),
    await t.h.post("/v1/runs", "{"),
    await t.h.get("/v1/ping?agent=a"),
    await t.h.request("HEAD", "/v1/ping?agent=a"),
  ];
  assertEquals(answers.map(({ status }) => status), [202, 200, 409, 400, 200, 200]);
  for (const [n, answer] of answers.entries()) {
    const remainder = { name: "ingest", r: 4_999 - n, t: 1 };
    assertEquals(rateHeaders(answer), [{ name: "ingest", q: 5_000, w: 3 }, remainder]);
    assertEquals(wait(answer), null);
  }
});

/** Declares tests of a service on the smallest plan, with its buckets. */
const rated = { test: fixture(() => open()) };

rated.test("decision 36: the control API has its own bucket, twice as large and as fast", async (t) => {
  const read = await t.h.get(`/v1/runs/${runId(1)}`);
  const remaining = { name: "control", r: 399, t: 1 };
  assertEquals([read.status, rateHeaders(read)], [404, [
    { name: "control", q: 400, w: 2 },
    remaining,
  ]]);
  await t.take(200);
  assertEquals((await sendRequest(t.h)).status, 429);
  assertEquals((await t.h.get("/v1/keys")).status, 200);
  await t.take(400, t.bucket(t.h.team, "control"));
  t.clock.ms = 10;
  assertEquals((await sendRequest(t.h)).status, 200);
  assertEquals([(await t.h.get("/v1/keys")).status, (await t.h.get("/v1/spend")).status], [
    200,
    200,
  ]);
  const refused = await t.h.get("/v1/keys");
  assertEquals([refused.status, refused.json.error], [429, "rate_limit"]);
  assertMatch(refused.json.message, /200 requests\/s with bursts of 400/);
});

rated.test("decision 36: 200, 400, 403 and 409 spend a token, 401, 404, 405 and 503 do not", async (t) => {
  const spent = async (act: () => Promise<Answer>, status: number) => {
    const before = t.bucket().remaining + t.bucket(t.h.team, "control").remaining;
    assertEquals((await act()).status, status);
    return before - t.bucket().remaining - t.bucket(t.h.team, "control").remaining;
  };
  const { h } = t;
  const token = await h.addKey({ kind: "ping_token", agent: "a" });
  const reader = await h.addKey({ kind: "api_key", scopes: ["read"] });
  assertEquals(await spent(() => h.post("/v1/runs", aRun(1)), 202), 1);
  assertEquals(await spent(() => h.post("/v1/runs", aRun(1)), 200), 1);
  assertEquals(await spent(() => h.post("/v1/runs", aRun(1, { agent: "x" })), 409), 1);
  assertEquals(await spent(() => h.post("/v1/runs", {}), 400), 1);
  assertEquals(await spent(() => h.post("/v1/runs", aRun(2), { key: reader }), 403), 1);
  assertEquals(await spent(() => h.post("/v1/runs", aRun(2), { key: null }), 401), 0);
  assertEquals(await spent(() => h.post("/v1/runs", aRun(2), { key: token }), 401), 0);
  assertEquals(await spent(() => h.get("/v1/nowhere"), 404), 0);
  assertEquals(await spent(() => h.request("PUT", "/v1/runs"), 405), 0);
  assertEquals(await spent(() => h.request("OPTIONS", "/v1/runs"), 204), 0);
  assertEquals(await spent(() => h.get("/healthz"), 200), 0);
  h.draining = true;
  assertEquals(await spent(() => h.post("/v1/runs", aRun(2)), 503), 0);
});

rated.test("decision 36: a batch is one token whatever its size, and all keys share the team's bucket", async (t) => {
  const events = Array.from({ length: 50 }, (_, n) => ({
    ...{ id: `evt_eu_${n.toString(16).padStart(32, "0")}`, type: "log" },
    ...{ ts: "2026-11-21T12:00:00Z", data: {} },
  }));
  await t.h.post(`/v1/runs/${runId(1)}/events`, { events });
  assertEquals(t.bucket().remaining, 199);
  const key = await t.h.addKey({ kind: "api_key", scopes: ["ingest"] });
  assertEquals((await sendRequest(t.h, key)).status, 200);
  assertEquals(t.bucket().remaining, 198);
});

rated.test("section 2: credential before rate, rate before scope and body", async (t) => {
  await t.take(200);
  const reader = await t.h.addKey({ kind: "api_key", scopes: ["read"] });
  const refusals = [
    await t.h.post("/v1/runs", "{", { key: null }),
    await t.h.post("/v1/runs", "{", { headers: { "Content-Encoding": "br" } }),
    await t.h.post("/v1/runs", "{", { key: reader }),
    await t.h.post("/v1/runs", "x".repeat(1_048_577)),
  ];
  assertEquals(refusals.map(({ status }) => status), [401, 429, 429, 429]);
  t.clock.ms = 1_000;
  const after = [await t.h.post("/v1/runs", "{"), await t.h.post("/v1/runs", "{", { key: reader })];
  assertEquals(after.map(({ status }) => status), [400, 403]);
});

rated.test("section 2: 429 does not wait for the body, stores nothing and counts nothing", async (t) => {
  await t.take(200);
  const before = await t.h.dump();
  using socket = await RawSocket.open(t.h.url);
  const key = `Authorization: Bearer ${t.h.key}`;
  const head = get("/", "Host: x", key, "Content-Length: 900000");
  await socket.send(head.replace("GET / ", "POST /v1/heartbeats "));
  assertEquals((await socket.answer())?.status, 429);
  assertEquals((await t.h.post("/v1/heartbeats", aHeartbeat(1))).status, 429);
  assertEquals([await t.h.dump(), await t.h.usage()], [before, 0]);
});

rated.test("decision 37: after a spike 429 has a Retry-After, after which there is a token", async (t) => {
  await t.take(200);
  const refused = await sendRequest(t.h);
  const remaining = { name: "ingest", r: 0, t: 1 };
  assertEquals([refused.status, wait(refused)], [429, "1"]);
  assertEquals(rateHeaders(refused), [{ name: "ingest", q: 200, w: 2 }, remaining]);
  t.clock.ms += 9;
  assertEquals((await sendRequest(t.h)).status, 429);
  t.clock.ms += 1_000;
  const answers = [await sendRequest(t.h), await sendRequest(t.h)];
  assertEquals(answers.map(({ status }) => status), [200, 200]);
});

rated.test("decision 37: a client over its limit for ten seconds gets no Retry-After until it slows down", async (t) => {
  for (; t.clock.ms < 10_000; t.clock.ms += 100) await t.take(11);
  await t.take(200);
  const constant = await sendRequest(t.h);
  assertEquals([constant.status, wait(constant)], [429, null]);
  assertMatch(constant.text, /100 requests\/s with bursts of 200.* slow down.* 1 s/);
  // It still gets the rate, and the structured field has the wait as well.
  assertEquals(rateHeaders(constant)?.[1], { name: "ingest", r: 0, t: 1 });
  t.clock.ms += 10_000;
  await t.take(200);
  const spike = await sendRequest(t.h);
  assertEquals([spike.status, wait(spike)], [429, "1"]);
  assertMatch(spike.text, /100 requests\/s with bursts of 200: retry after 1 s\n$/);
});

rated.test("decision 37: with a slow refill Retry-After is the real wait, the same as in RateLimit", async (t) => {
  await setTeamRate(t.h.store, t.h.team.id, { sustained: 0.2, burst: 1 });
  await t.h.restart();
  assertEquals(rateHeaders(await sendRequest(t.h))?.[0], { name: "ingest", q: 1, w: 5 });
  t.clock.ms = 1_500;
  const refused = await sendRequest(t.h);
  assertEquals([refused.status, wait(refused)], [429, "4"]);
  assertEquals(rateHeaders(refused)?.[1], { name: "ingest", r: 0, t: 4 });
  t.clock.ms = 4_999;
  assertEquals((await sendRequest(t.h)).status, 429);
  t.clock.ms = 5_000;
  assertEquals((await sendRequest(t.h)).status, 200);
});

rated.test("decision 36: one team's flood does not affect another", async (t) => {
  const other = await t.h.addTeam("free");
  await t.take(100_000);
  assertEquals((await sendRequest(t.h)).status, 429);
  const answer = await sendRequest(t.h, other.key);
  assertEquals([answer.status, rateHeaders(answer)?.[1]], [200, { name: "ingest", r: 199, t: 1 }]);
});

Deno.test("decision 36: Enterprise has no rate headers and is never refused, unless a rate is set", async () => {
  await using t = await open("enterprise");
  const free = await sendRequest(t.h);
  assertEquals([free.status, rateHeaders(free)], [200, null]);
  await setTeamRate(t.h.store, t.h.team.id, { sustained: 50, burst: 2 });
  await t.h.restart();
  const answers = [await sendRequest(t.h), await sendRequest(t.h), await sendRequest(t.h)];
  assertEquals(answers.map(({ status }) => status), [200, 200, 429]);
  assertEquals(
    answers.map((answer) => rateHeaders(answer)?.[0]),
    Array(3).fill({ name: "ingest", q: 2, w: 1 }),
  );
  await setTeamRate(t.h.store, t.h.team.id, null);
  await t.h.restart();
  assertEquals([(await sendRequest(t.h)).status, rateHeaders(await sendRequest(t.h))], [200, null]);
});

rated.test("decision 37: a refused ping is one line of text, also for HEAD", async (t) => {
  await t.take(200);
  const refused = await sendRequest(t.h);
  assertMatch(
    refused.text,
    /^rate_limit The team's limit is 100 requests\/s .* retry after 1 s\n$/,
  );
  assertMatch(refused.headers.get("content-type") ?? "", /^text\/plain/);
  const head = await t.h.request("HEAD", "/v1/ping?agent=a");
  for (const { status, headers } of [refused, head]) {
    assertEquals([status, headers.get("x-error-code")], [429, "rate_limit"]);
    assertEquals([headers.get("retry-after"), headers.get("cache-control")], ["1", "no-store"]);
  }
});

const refusal = ({ status, json, headers }: Answer) =>
  [status, json.error, headers.get("retry-after")] as const;

Deno.test("cost of a read: 1 token, plus 1 per 100 rows", async () => {
  await using t = await open("business");
  for (let n = 1; n <= 300; n++) await t.h.post("/v1/heartbeats", aHeartbeat(n));
  await t.h.worker.idle();
  const before = t.bucket(t.h.team, "control").remaining;
  assertEquals((await t.h.get("/v1/runs?limit=300")).json.runs.length, 300);
  const cost = before - t.bucket(t.h.team, "control").remaining;
  // 300 summaries are at least 3 tokens; index entries may share rows.
  assert(cost >= 4 && cost < 20, `${cost} tokens`);
});

rated.test("cost of a read: a team in debt waits, and pages have their own reserve", async (t) => {
  t.bucket(t.h.team, "control").debit(400 + 200, 0);
  const refused = await t.h.get("/v1/usage");
  assertEquals(refusal(refused), [429, "rate_limit", "2"]);
  // The page takes its token from the reserve: a fifth of 400.
  const reader = await signedIn(t.h);
  const page = () => reader.get("/dashboard/keys");
  assertEquals((await page()).status, 200);
  t.h.limits.dashboard.bucketOf(t.h.team, 0)?.debit(80, 0);
  assertEquals((await page()).status, 429);
  t.clock.ms = 1_500;
  assertEquals((await t.h.get("/v1/usage")).status, 200);
});

rated.test("cost of a read: reads end when their client disconnects, and are still debited", async (t) => {
  const disconnect = new AbortController();
  const request = fetch(`${t.h.url}/v1/runs?limit=1000`, {
    headers: { Authorization: `Bearer ${t.h.key}` },
    signal: disconnect.signal,
  });
  disconnect.abort();
  await request.then((answer) => answer.body?.cancel(), () => {});
  const next = await t.h.get("/v1/usage");
  assertEquals(next.status, 200);
  assert(!t.h.log.some((line) => line.includes("failure")), t.h.log.join("\n"));
});

rated.test("rate of bytes: a body is debited after inflating, and the next call waits", async (t) => {
  t.bucket(t.h.team, "bytes").debit(64_000_000, 0);
  const large = { ...aHeartbeat(1), output: { text: "x".repeat(400_000) } };
  const body = await gzip(JSON.stringify(large));
  const headers = { "Content-Encoding": "gzip" };
  assertEquals((await t.h.post("/v1/heartbeats", body, { headers })).status, 202);
  const refused = await t.h.post("/v1/heartbeats", aHeartbeat(2));
  assertEquals(refusal(refused), [429, "rate_limit", "1"]);
  assertMatch(refused.json.message, /1000000 bytes\/s.*bursts of 64000000.*retry after 1 s/);
  t.clock.ms = 500;
  assertEquals((await t.h.post("/v1/heartbeats", aHeartbeat(2))).status, 202);
});

rated.test("rate of bytes: refused bodies count, enterprise has no such limit", async (t) => {
  assertEquals((await t.h.post("/v1/heartbeats", `{"agent":"${"x".repeat(1_000)}`)).status, 400);
  assertEquals(t.bucket(t.h.team, "bytes").remaining, 64_000_000 - 1_010);
  await using free = await open("enterprise");
  assertEquals(free.h.limits.bytes.bucketOf(free.h.team, 0), null);
});

rated.test("R10: a body that inflates beyond its limit is debited as far as it was read", async (t) => {
  const bomb = await gzip(" ".repeat(20_000_000));
  const headers = { "Content-Encoding": "gzip" };
  const refused = await t.h.post(`/v1/runs/${runId(1)}/events`, bomb, { headers });
  assertEquals(refused.status, 413);
  const read = 64_000_000 - t.bucket(t.h.team, "bytes").remaining;
  assert(read > EVENTS_BODY_BYTES_MAX * 0.9 && read <= EVENTS_BODY_BYTES_MAX, `${read} bytes`);
});

async function gzip(text: string): Promise<Uint8Array> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
