/** Accepted, refused and failed credentials, and the refusals (decisions 1 and 2). */
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { developmentKey } from "../../domain/teams/credentials.ts";
import { createCredentialStore } from "../../kv/teams/credentials.ts";
import { aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { brokenCredentials } from "../support/fakes/broken_credentials.ts";
import { type Answer, Harness, KEY, oneFile, oneInstance } from "../support/harness/harness.ts";
import { ensureFirstTeam } from "../../kv/teams/teams.ts";
import { createHash } from "node:crypto";
import { stub } from "@std/testing/mock";
import { createRequestLimits } from "../../runtime/rate_limit.ts";
import type { RequestContext } from "../../routes/http/context.ts";
import { clientOf } from "../../routes/http/credential.ts";
import { ReadsOf } from "../support/oracles/reads.ts";
import { Gate } from "../support/harness/worker_harness.ts";

const UNKNOWN = `apk_eu_${"f".repeat(32)}`;
const HEX = "0123456789abcdef0123456789abcdef";

/** Status, error code - in either of its two forms - and challenge of a refusal. */
function refusalOf(answer: Answer): [number, string, string | null] {
  const plain = answer.headers.get("content-type")?.startsWith("text/plain") ?? false;
  const code = plain ? answer.text.slice(0, answer.text.indexOf(" ")) : answer.json.error;
  return [answer.status, code, answer.headers.get("www-authenticate")];
}

/** A response without the parts that differ between any two requests. */
function comparable({ status, headers, text }: Answer) {
  const stableHeaders = [...headers].filter(([name]) => name !== "x-request-id" && name !== "date");
  return { status, headers: stableHeaders, text };
}

Deno.test("decision 1: another region is recognized from the text alone, without a read", async () => {
  const find = (): never => {
    throw new Error("the store was asked");
  };
  const credentials = brokenCredentials(find);
  await using h = await Harness.open({ deps: { credentials } });
  for (const secret of [`apk_us_${HEX}`, `ping_us_${HEX}`, `opk_us_${HEX}`, `apk_zz_${HEX}`]) {
    for (const { method, path, access } of ENDPOINTS) {
      if (access === null) continue;
      const answer = await h.request(method, path.replace(/:\w+/, "x"), { key: secret });
      assertEquals(refusalOf(answer), [401, "region_mismatch", "Bearer"], `${secret} ${path}`);
    }
  }
  // A credential of this region does reach the store, so the responses above needed no read.
  assertEquals((await h.get("/v1/keys")).status, 500);
});

Harness.test("decision 2: a ping's agent defaults to the token's, a heartbeat's does not", async (h) => {
  const token = await h.addKey({ kind: "ping_token", agent: "nightly" });
  const ping = await h.get(`/v1/ping?id=${runId(3)}`, { key: token });
  assertEquals([ping.status, ping.text], [200, "OK\n"]);
  assertEquals((await h.get(`/v1/runs/${runId(3)}`)).json.agent, "nightly");
  const heartbeat = await h.post("/v1/heartbeats", { id: runId(4) }, { key: token });
  assertEquals([heartbeat.status, heartbeat.json.error], [400, "missing_field"]);
});

Deno.test("a refused secret is unknown even if the store has it", async () => {
  const shared = developmentKey("eu");
  await using h = await Harness.open({ refusedSecret: shared });
  const environment = {
    now: () => h.nowMs,
    random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  const options = { region: "eu", refusedSecret: null } as const;
  const accepting = createCredentialStore(h.store, environment, options);
  const first = { region: "eu", key: shared, tier: "business" } as const;
  assertEquals((await ensureFirstTeam(h.store, environment, first)).createdKey, shared);
  assertEquals((await accepting.find(shared))?.team.id, h.team.id);
  const refused = await h.get("/v1/keys", { key: shared });
  const unknown = await h.get("/v1/keys", { key: UNKNOWN });
  assertEquals(comparable(refused), comparable(unknown));
  assertEquals(refused.status, 401);
});

const basic = (user: string, password = "") => `Basic ${btoa(`${user}:${password}`)}`;

Harness.test("decision 3: Bearer and Basic work in any case, and so does the alias header", async (h) => {
  const accepted: Record<string, string>[] = [
    { Authorization: `Bearer ${KEY}` },
    { Authorization: `bearer ${KEY}` },
    { Authorization: `BEARER ${KEY}` },
    { Authorization: `bEaReR   ${KEY}` },
    { Authorization: basic(KEY) },
    { Authorization: basic(KEY).replace("Basic", "basic") },
    { Authorization: basic(KEY, "any password: ignored") },
    { "X-AgentPing-Key": KEY },
    { "x-agentping-key": ` ${KEY} ` },
  ];
  for (const [i, headers] of accepted.entries()) {
    const answer = await h.post("/v1/runs", aRun(i), { key: null, headers });
    assertEquals(answer.status, 202, JSON.stringify(headers));
  }
  assertEquals(await h.usage(), accepted.length);
});

Harness.test("decision 3: ?key= works only on GET /v1/ping", async (h) => {
  const ping = await h.get(`/v1/ping?agent=nightly&key=${KEY}&id=${runId(1)}`, { key: null });
  assertEquals([ping.status, ping.text], [200, "OK\n"]);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.agent, "nightly");
  const before = await h.dump();
  for (
    const [method, path, body] of [
      ["POST", "/v1/runs", aRun(2)],
      ["POST", `/v1/runs/${runId(2)}/events`, { events: [] }],
      ["POST", "/v1/heartbeats", aHeartbeat(3)],
      ["GET", `/v1/runs/${runId(1)}`, undefined],
      ["GET", "/v1/keys", undefined],
    ] as const
  ) {
    const answer = await h.request(method, `${path}?key=${KEY}`, { key: null, body });
    assertEquals([answer.status, answer.json.error], [401, "invalid_credential"], path);
  }
  assertEquals(await h.dump(), before);
});

Harness.test("decision 3: no transport puts a secret into the log or a response", async (h) => {
  const unknown = `apk_eu_${"d".repeat(32)}`;
  const foreign = `apk_us_${"c".repeat(32)}`;
  const malformed = `apk_eu_${"B".repeat(32)}`;
  const answers: string[] = [];
  for (const secret of [KEY, unknown, foreign, malformed]) {
    for (
      const headers of [
        { Authorization: `Bearer ${secret}` },
        { Authorization: basic(secret) },
        { "X-AgentPing-Key": secret },
      ]
    ) answers.push((await h.post("/v1/heartbeats", aHeartbeat(1), { key: null, headers })).text);
    for (const path of ["/v1/ping", "/v1/runs", "/v1/nowhere", `/v1/keys/${secret}`]) {
      answers.push((await h.get(`${path}?agent=nightly&key=${secret}`, { key: null })).text);
    }
  }
  assertEquals(h.log.length, answers.length);
  const seen = [...h.log, ...answers].join("\n");
  for (const secret of [KEY, unknown, foreign, malformed]) {
    assert(!seen.includes(secret.slice(-32)), "a secret was logged or answered");
    assert(!seen.includes(btoa(`${secret}:`)), "a Basic header was logged or answered");
  }
});

Deno.test("decision 3: a failure inside a request does not put its secret into the log", async () => {
  const fails = (): never => {
    throw new Error("broken");
  };
  const credentials = brokenCredentials(fails);
  await using h = await Harness.open({ deps: { credentials } });
  const answer = await h.get(`/v1/ping?agent=nightly&key=${KEY}`, { key: null });
  assertEquals(answer.status, 500);
  assert(h.log.some((line) => line.includes("broken")), "the failure itself is logged");
  assert(!h.log.join("\n").includes(KEY.slice(-32)));
});

/** Every byte the store keeps on disk, one character per byte. */
async function bytesOnDisk(h: Harness): Promise<string> {
  const folder = h.path.slice(0, h.path.lastIndexOf("/"));
  const files: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const bytes = await Deno.readFile(`${folder}/${name}`);
    files.push(new TextDecoder("latin1").decode(bytes));
  }
  return files.join("\n");
}

oneFile.test("decision 2: the store has only the SHA-256 of a secret", async (h) => {
  const make = { kind: "api_key", name: "laptop", scopes: ["read"] };
  const created = (await h.post("/v1/keys", make)).json;
  const token = await h.addKey({ kind: "ping_token", agent: "nightly" });
  const text = (await h.dump()).join("\n");
  const disk = await bytesOnDisk(h);
  assert(
    disk.includes("laptop"),
    "the names of keys are on disk, so the search can find something",
  );
  for (const secret of [KEY, created.secret, token]) {
    const digest = new Uint8Array(createHash("sha256").update(secret).digest());
    assert((await h.store.reader.get(["credential", digest])).versionstamp !== null);
    const hex = secret.slice(-32);
    const raw = new TextDecoder("latin1").decode(Uint8Array.fromHex(hex));
    assert(!text.includes(hex) && !disk.includes(hex) && !disk.includes(raw));
  }
});

Deno.test("decision 2: secrets have their kind, the region and 32 random hex digits", async () => {
  for (const region of ["eu", "us"] as const) {
    await using h = await Harness.open({ region });
    const key = { kind: "api_key", name: "k" };
    const token = { kind: "ping_token", name: "t", agent: "a" };
    const secrets = new Set<string>();
    for (const body of [key, key, token, token]) {
      const { secret } = (await h.post("/v1/keys", body)).json;
      const prefix = body === key ? "apk" : "ping";
      assertMatch(secret, new RegExp(`^${prefix}_${region}_[0-9a-f]{32}$`));
      secrets.add(secret.slice(-32));
    }
    assertEquals(secrets.size, 4);
  }
});

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
