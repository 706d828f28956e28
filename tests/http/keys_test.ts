/** `/v1/keys`: creating, listing and revoking a team's credentials. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness, KEY } from "../support/harness/harness.ts";

const API_KEY = { kind: "api_key", name: "ci server", scopes: ["ingest", "read"] };
const PING_TOKEN = { kind: "ping_token", name: "backup host", agent: "nightly" };
const NOT_ENDED = { revoked_at: null, ends_at: null, replaced_by: null, replaces: null };

Harness.test("POST /v1/keys: an api_key is 201 with its secret and works immediately", async (h) => {
  const answer = await h.post("/v1/keys", API_KEY);
  assertEquals(answer.status, 201);
  assertEquals(answer.headers.get("content-type"), "application/json");
  assertEquals(answer.headers.get("cache-control"), "no-store");
  const { id, secret, ...fields } = answer.json;
  assertMatch(id, /^key_eu_[0-9a-f]{32}$/);
  assertEquals(fields, { ...API_KEY, created_at: at(), ...NOT_ENDED });
  assertEquals((await h.post("/v1/runs", aRun(1), { key: secret })).status, 202);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).json.agent, "researcher");
  assertEquals((await h.get("/v1/keys", { key: secret })).status, 403);
});

Harness.test("POST /v1/keys: a ping_token is 201, belongs to its agent and pings", async (h) => {
  const answer = await h.post("/v1/keys", PING_TOKEN);
  assertEquals(answer.status, 201);
  const { id, secret, ...fields } = answer.json;
  assertMatch(id, /^key_eu_[0-9a-f]{32}$/);
  assertEquals(fields, { ...PING_TOKEN, created_at: at(), ...NOT_ENDED });
  assertEquals((await h.get("/v1/ping", { key: secret })).text, "OK\n");
  const other = aHeartbeat(2, { agent: "other" });
  assertEquals((await h.post("/v1/heartbeats", other, { key: secret })).status, 401);
});

Harness.test("POST /v1/keys: without scopes a key may only ingest; repeated scopes count once", async (h) => {
  const plain = (await h.post("/v1/keys", { kind: "api_key", name: "k" })).json;
  assertEquals(plain.scopes, ["ingest"]);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: plain.secret })).status, 403);
  const none = (await h.post("/v1/keys", { kind: "api_key", name: "k", scopes: null })).json;
  assertEquals(none.scopes, ["ingest"]);
  const twice = { kind: "api_key", name: "k", scopes: ["read", "read"] };
  assertEquals((await h.post("/v1/keys", twice)).json.scopes, ["read"]);
});

Harness.test("GET /v1/keys lists all credentials, oldest first, without any secret", async (h) => {
  const created = [];
  for (const [i, body] of [API_KEY, PING_TOKEN].entries()) {
    h.nowMs += 1_000 * (i + 1);
    created.push((await h.post("/v1/keys", body)).json);
  }
  h.nowMs += 1_000;
  await h.request("DELETE", `/v1/keys/${created[0].id}`);
  const answer = await h.get("/v1/keys");
  const [first, ...rest] = answer.json.keys;
  assertEquals([first.kind, first.scopes], ["api_key", ["ingest", "read", "admin"]]);
  const expected = created.map(({ secret: _, ...fields }) => ({ ...fields, last_used_at: null }));
  assertEquals(rest, [{ ...expected[0], revoked_at: at(4_000) }, expected[1]]);
  for (const secret of [KEY, created[0].secret, created[1].secret]) {
    assert(!answer.text.includes(secret.slice(-32)));
  }
});

Harness.test("GET /v1/keys lists more keys than one read of the store returns", async (h) => {
  const ids: string[] = [];
  for (let n = 0; n < 25; n++) {
    h.nowMs += 1;
    ids.push((await h.post("/v1/keys", { kind: "api_key", name: `key ${n}` })).json.id);
  }
  const { keys } = (await h.get("/v1/keys")).json;
  assertEquals(keys.slice(1).map(({ id }: { id: string }) => id), ids);
});

Harness.test("DELETE /v1/keys/{id} revokes, and a repeat returns the first revocation", async (h) => {
  const { id, secret } = (await h.post("/v1/keys", API_KEY)).json;
  h.nowMs += 5_000;
  const first = await h.request("DELETE", `/v1/keys/${id}`);
  assertEquals([first.status, first.json.id, first.json.revoked_at], [200, id, at(5_000)]);
  assert(!first.text.includes(secret.slice(-32)));
  const before = await h.dump();
  h.nowMs += 5_000;
  const again = await h.request("DELETE", `/v1/keys/${id}`);
  assertEquals([again.status, again.text], [200, first.text]);
  assertEquals(await h.dump(), before);
  assertEquals((await h.post("/v1/runs", aRun(1), { key: secret })).status, 401);
});
