/** Accepted and refused credentials, and the refusals (decisions 1 and 2). */
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { developmentKey } from "../../domain/teams/credentials.ts";
import { createCredentialStore } from "../../kv/teams/credentials.ts";
import { aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { brokenCredentials } from "../support/fakes/broken_credentials.ts";
import { type Answer, Harness, KEY, oneFile } from "../support/harness/harness.ts";
import { ensureFirstTeam } from "../../kv/teams/teams.ts";
import { createHash } from "node:crypto";

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
