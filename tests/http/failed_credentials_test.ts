/**
 * Failed credentials are 401 however many there are, cost little, and do not affect other clients
 * at the same address.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { stub } from "@std/testing/mock";
import { createRequestLimits } from "../../runtime/rate_limit.ts";
import type { RequestContext } from "../../routes/http/context.ts";
import { clientOf } from "../../routes/http/credential.ts";
import { aHeartbeat, runId } from "../support/builders/requests.ts";
import { Harness, oneInstance } from "../support/harness/harness.ts";
import { ReadsOf } from "../support/oracles/reads.ts";
import { Gate } from "../support/harness/worker_harness.ts";

const WRONG = `apk_eu_${"0".repeat(32)}`;

/** A secret that does not exist. */
function madeUp(n: number): string {
  return `apk_eu_${n.toString(16).padStart(32, "0")}`;
}

/** Requests an unknown run, which reads no credential but the caller's: 404 for a valid one. */
async function askWith(h: Harness, key: string): Promise<number> {
  return (await h.get(`/v1/runs/${runId(99)}`, { key })).status;
}

Deno.test("R15: every failure is 401 with the same bytes, however often within one instant", async () => {
  await using h = await Harness.open({ deps: { limits: createRequestLimits(() => 0) } });
  const revoked = await h.addKey({ kind: "api_key", scopes: ["read"] });
  const { json } = await h.get("/v1/keys");
  const id = json.keys.find(({ name }: { name: string }) => name === "test").id;
  assertEquals((await h.request("DELETE", `/v1/keys/${id}`)).status, 200);
  const bad = [null, "nonsense", WRONG, revoked];
  const texts = new Set<string>();
  for (let n = 0; n < 60; n++) {
    const answer = await h.get("/v1/keys", { key: bad[n % bad.length] ?? null });
    assertEquals([answer.status, answer.headers.get("retry-after")], [401, null]);
    assertEquals(answer.headers.get("www-authenticate"), "Bearer");
    texts.add(answer.text);
  }
  assertEquals(texts.size, 1);
  const elsewhere = await h.get("/v1/keys", { key: WRONG.replace("_eu_", "_us_") });
  assertEquals([elsewhere.status, elsewhere.json.error], [401, "region_mismatch"]);
  const ping = await h.get("/v1/ping?agent=a&key=nonsense", { key: null });
  assertEquals([ping.status, ping.headers.get("x-error-code")], [401, "invalid_credential"]);
  assertMatch(ping.text, /^invalid_credential .*\n$/);
});

oneInstance.test("a credential that is refused repeatedly is looked up once", async (h) => {
  const revoked = await h.addKey({ kind: "api_key", scopes: ["read"] });
  const { json } = await h.get("/v1/keys");
  const id = json.keys.find(({ name }: { name: string }) => name === "test").id;
  await h.request("DELETE", `/v1/keys/${id}`);
  for (const key of [WRONG, revoked]) {
    using reads = new ReadsOf(h.store, "credential");
    const answers = await Promise.all(Array.from({ length: 50 }, () => h.get("/v1/keys", { key })));
    for (let n = 0; n < 20; n++) answers.push(await h.get("/v1/keys", { key }));
    assertEquals(new Set(answers.map(({ status }) => status)), new Set([401]));
    // Requests before the first refusal share the slots of their address.
    assert(reads.count >= 1 && reads.count <= 4, `${reads.count} look-ups`);
  }
});

oneInstance.test("of many concurrent requests with an uncached key a few look it up", async (h) => {
  const fresh = await h.addKey({ kind: "api_key", scopes: ["read"] });
  using reads = new ReadsOf(h.store, "credential");
  const all = await Promise.all(Array.from({ length: 60 }, () => askWith(h, fresh)));
  assertEquals(new Set(all), new Set([404]));
  assert(reads.count >= 1 && reads.count <= 4, `${reads.count} look-ups`);
});

oneInstance.test("made-up credentials from one address take a few slots, and other clients do not wait", async (h) => {
  const [known, fresh] = [h.key, await h.addKey({ kind: "api_key", scopes: ["read"] })];
  assertEquals(await askWith(h, known), 404);
  const gate = new Gate();
  let isOpen = false;
  using reads = new ReadsOf(h.store, "credential", async () => {
    if (!isOpen) await gate.pass();
  });
  const flood = Array.from({ length: 40 }, (_, n) => h.get("/v1/keys", { key: madeUp(n) }));
  await gate.reached();
  // A cached key needs no lookup.
  assertEquals(await askWith(h, known), 404);
  assertEquals((await h.post("/v1/heartbeats", aHeartbeat(1))).status, 202);
  // An uncached key waits for its turn and is served, at the same address too.
  const served = askWith(h, fresh);
  isOpen = true;
  gate.open();
  assertEquals(await served, 404);
  assertEquals(new Set((await Promise.all(flood)).map(({ status }) => status)), new Set([401]));
  assert(reads.most <= 4, `${reads.most} look-ups at once`);
});

oneInstance.test("another address does not wait for the lookups of a flooding address", async (h) => {
  const fresh = await h.addKey({ kind: "api_key", scopes: ["admin"] });
  const release = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  let blocked = 0;
  using _reads = new ReadsOf(h.store, "credential", async () => {
    // The flood's lookups never end on their own; the fifth is from the other address.
    if (++blocked === 4) full.resolve();
    if (blocked <= 4) await release.promise;
  });
  const flood = Array.from({ length: 20 }, (_, n) => h.get("/v1/keys", { key: madeUp(n) }));
  await full.promise;
  using client = Deno.createHttpClient({ localAddress: "127.0.0.2" });
  const headers = { Authorization: `Bearer ${fresh}` };
  const answer = await fetch(`${h.url}/v1/keys`, { client, headers });
  assertEquals(answer.status, 200);
  await answer.body?.cancel();
  release.resolve();
  assertEquals(new Set((await Promise.all(flood)).map(({ status }) => status)), new Set([401]));
});

Harness.test("a valid key is looked up again in its team's queue, not after its address", async (h) => {
  const find = (key: string, from: string) => Promise.resolve(h.credentials.find(key, () => from));
  assert(await find(h.key, "flooded") !== null);
  // As after several seconds: its cache entry is stale.
  const release = Promise.withResolvers<void>();
  let blocked = 0;
  using _reads = new ReadsOf(h.store, "credential", async () => {
    if (++blocked <= 4) await release.promise;
  });
  const flood = Array.from({ length: 20 }, (_, n) => find(madeUp(n), "flooded"));
  const { now } = performance;
  const clock = stub(performance, "now", () => now.call(performance) + 6_000);
  const result = find(h.key, "flooded");
  clock.restore();
  assert(await result !== null);
  release.resolve();
  assertEquals((await Promise.all(flood)).filter((each) => each !== null), []);
});

oneInstance.test("a new or rotated key of one team leaves other teams' keys in the cache", async (h) => {
  const { key: other } = await h.addTeam("free");
  await askWith(h, other);
  const created = (await h.post("/v1/keys", { kind: "api_key", name: "x", scopes: ["read"] })).json;
  assertEquals(await askWith(h, created.secret), 404);
  using reads = new ReadsOf(h.store, "credential");
  assertEquals(await askWith(h, other), 404);
  assertEquals(reads.count, 0);
  const rotated = await h.post(`/v1/keys/${created.id}/rotate`, { overlap_hours: 0 });
  assertEquals(rotated.status, 201);
  const before = reads.count;
  assertEquals(await askWith(h, other), 404);
  assertEquals(reads.count, before);
  assertEquals(await askWith(h, created.secret), 401);
  assertEquals(await askWith(h, rotated.json.secret), 404);
});

Deno.test("credentials: without a network address, unknown secrets queue by their last digits", () => {
  const remotes: Deno.Addr[] = [
    { transport: "tcp", hostname: "192.0.2.7", port: 1 },
    { transport: "unix", path: "/run/serve.sock" },
  ];
  const [network, digits] = remotes.map((remoteAddr) => {
    const c = { env: { remoteAddr } } as RequestContext;
    return new Set(["a0", "a0", "b1"].map((end) => clientOf(c, `apk_eu_${"0".repeat(30)}${end}`)));
  });
  assertEquals([network?.size, digits?.size], [1, 2]);
});
