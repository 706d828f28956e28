/** Accepted and refused credentials, and the refusals (decisions 1 and 2). */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { developmentKey, type Scope } from "../../domain/teams/credentials.ts";
import { createCredentialStore } from "../../kv/teams/credentials.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { brokenCredentials } from "../support/fakes/broken_credentials.ts";
import { type Answer, Harness, KEY } from "../support/harness/harness.ts";
import { ensureFirstTeam } from "../../kv/teams/teams.ts";

const UNKNOWN = `apk_eu_${"f".repeat(32)}`;
const HEX = "0123456789abcdef0123456789abcdef";

/** Every route that needs a credential, with a valid body and its scope. */
const ROUTES: readonly {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly scope: Scope;
  readonly pingTokens?: true;
}[] = [
  { method: "POST", path: "/v1/runs", body: aRun(1), scope: "ingest" },
  {
    method: "POST",
    path: `/v1/runs/${runId(1)}/events`,
    body: { events: [anEvent(1)] },
    scope: "ingest",
  },
  { method: "POST", path: `/v1/runs/${runId(1)}/finish`, body: aFinish(), scope: "ingest" },
  {
    method: "POST",
    path: "/v1/heartbeats",
    body: aHeartbeat(2),
    scope: "ingest",
    pingTokens: true,
  },
  { method: "GET", path: "/v1/ping?agent=nightly", scope: "ingest", pingTokens: true },
  { method: "GET", path: `/v1/runs/${runId(1)}`, scope: "read" },
  {
    method: "POST",
    path: "/v1/keys",
    body: { kind: "api_key", name: "made by a test" },
    scope: "admin",
  },
  { method: "GET", path: "/v1/keys", scope: "admin" },
  { method: "DELETE", path: `/v1/keys/key_eu_${HEX}`, scope: "admin" },
  { method: "GET", path: `/v1/deletions/${"0".repeat(26)}`, scope: "admin" },
  { method: "DELETE", path: "/v1/customers/acme", scope: "admin" },
  { method: "DELETE", path: `/v1/runs/${runId(1)}`, scope: "admin" },
];

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
    for (const { method, path, body } of ROUTES) {
      const answer = await h.request(method, path, { key: secret, body });
      assertEquals(refusalOf(answer), [401, "region_mismatch", "Bearer"], `${secret} ${path}`);
    }
  }
  // A credential of this region does reach the store, so the responses above needed no read.
  assertEquals((await h.get("/v1/keys")).status, 500);
});

Deno.test("decision 1: the message of a mismatch names both regions", async () => {
  await using h = await Harness.open({ region: "us" });
  const { message } = (await h.get("/v1/keys", { key: KEY })).json;
  assertStringIncludes(message, '"eu"');
  assertStringIncludes(message, '"us"');
  assertEquals((await h.get("/v1/keys")).status, 200);
});

Harness.test("contract 8: a ping token cannot report for another agent", async (h) => {
  const token = await h.addKey({ kind: "ping_token", agent: "nightly" });
  const before = await h.dump();
  // The id is bad too: the credential is checked before the fields (decisions, section 2).
  const body = { id: "bad", agent: "Nightly", status: "bad" };
  const heartbeat = await h.post("/v1/heartbeats", body, { key: token });
  assertEquals(refusalOf(heartbeat), [401, "scope_violation", "Bearer"]);
  const ping = await h.get("/v1/ping?agent=other&id=bad", { key: token });
  assertEquals(refusalOf(ping), [401, "scope_violation", "Bearer"]);
  assertMatch(ping.text, /^scope_violation [^\n]+\n$/);
  assertEquals(await h.dump(), before);
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
