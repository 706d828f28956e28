/** Costs of reads, the reserve of the dashboard, and the rate of bytes, over sockets. */
import { fixture } from "../support/harness/fixture.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Tier } from "../../domain/teams/plans.ts";
import { EVENTS_BODY_BYTES_MAX } from "../../domain/core/limits.ts";
import { aHeartbeat, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

/** A service whose buckets stand still unless the test moves their clock. */
async function open(tier: Tier = "free") {
  const clock = { ms: 0 };
  const h = await Harness.open({ tier, rateClock: () => clock.ms });
  const remaining = (api: "control" | "bytes") => {
    const bucket = h.limits[api].bucketOf(h.team, clock.ms);
    if (bucket === null) throw new Error(`${tier} has no bucket for ${api}`);
    return bucket;
  };
  return {
    h,
    clock,
    limits: h.limits,
    left: remaining,
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  };
}

const refusal = ({ status, json, headers }: Answer) =>
  [status, json.error, headers.get("retry-after")] as const;

Deno.test("cost of a read: 1 token, plus 1 per 100 rows", async () => {
  await using t = await open("business");
  for (let n = 1; n <= 300; n++) await t.h.post("/v1/heartbeats", aHeartbeat(n));
  await t.h.worker.idle();
  const before = t.left("control").remaining;
  assertEquals((await t.h.get("/v1/runs?limit=300")).json.runs.length, 300);
  const cost = before - t.left("control").remaining;
  // 300 summaries are at least 3 tokens; index entries may share rows.
  assert(cost >= 4 && cost < 20, `${cost} tokens`);
});

/** Declares tests of a service whose rates have a clock of their own. */
const rated = { test: fixture(() => open()) };

rated.test("cost of a read: a team in debt waits, and pages have their own reserve", async (t) => {
  t.left("control").debit(400 + 200, 0);
  const refused = await t.h.get("/v1/usage");
  assertEquals(refusal(refused), [429, "rate_limit", "2"]);
  // The page takes its token from the reserve: a fifth of 400.
  const cookie = await signIn(t.h);
  const page = () => t.h.get("/dashboard/keys", { key: null, headers: { cookie } });
  assertEquals((await page()).status, 200);
  t.limits.dashboard.bucketOf(t.h.team, 0)?.debit(80, 0);
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
  t.left("bytes").debit(64_000_000, 0);
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
  assertEquals(t.left("bytes").remaining, 64_000_000 - 1_010);
  await using free = await open("enterprise");
  assertEquals(free.limits.bytes.bucketOf(free.h.team, 0), null);
});

rated.test("R10: a body that inflates beyond its limit is debited as far as it was read", async (t) => {
  const bomb = await gzip(" ".repeat(20_000_000));
  const headers = { "Content-Encoding": "gzip" };
  const refused = await t.h.post(`/v1/runs/${runId(1)}/events`, bomb, { headers });
  assertEquals(refused.status, 413);
  const read = 64_000_000 - t.left("bytes").remaining;
  assert(read > EVENTS_BODY_BYTES_MAX * 0.9 && read <= EVENTS_BODY_BYTES_MAX, `${read} bytes`);
});

async function gzip(text: string): Promise<Uint8Array> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Signs in with the first team's key and returns the session cookie. */
async function signIn(h: Harness): Promise<string> {
  const answer = await h.request("POST", "/dashboard/sign-in", {
    key: null,
    redirect: "manual",
    headers: { "Sec-Fetch-Site": "same-origin" },
    body: `key=${h.key}`,
  });
  return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
}
