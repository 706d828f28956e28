/** `/v1/keys`: credentials, their rotation, their revocation and their last use (decision 4). */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness, KEY, oneInstance } from "../support/harness/harness.ts";
import { keys } from "../../kv/base/keys.ts";
import { hashOf } from "../../kv/teams/credential_rows.ts";
import { createCredentialStore, type CredentialStore } from "../../kv/teams/credentials.ts";
import { signedIn } from "../support/harness/dashboard.ts";
import { stub } from "@std/testing/mock";

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

const HOUR_MS = 3_600_000;

interface Made {
  readonly id: string;
  readonly secret: string;
}

async function makeKey(h: Harness, more: Record<string, unknown> = {}): Promise<Made> {
  const grant = more["kind"] === "ping_token" ? {} : { kind: "api_key", scopes: ["read"] };
  const body = { name: "ci", ...grant, ...more };
  const answer = await h.post("/v1/keys", body);
  assertEquals(answer.status, 201);
  return answer.json;
}

function rotate(h: Harness, id: string, body: unknown = {}): Promise<Answer> {
  return h.post(`/v1/keys/${id}/rotate`, body);
}

/** Status for a secret on a route of its scope: 404 means accepted. */
async function statusOf(h: Harness, secret: string): Promise<number> {
  return (await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status;
}

async function listed(h: Harness, id: string): Promise<Record<string, unknown>> {
  const { keys } = (await h.get("/v1/keys")).json;
  return keys.find((key: { id: string }) => key.id === id);
}

Harness.test("decision 4: a rotated key works along with its successor for a day, and then no longer", async (h) => {
  const old = await makeKey(h);
  assertEquals(await statusOf(h, old.secret), 404);
  const answer = await rotate(h, old.id);
  assertEquals([answer.status, answer.headers.get("cache-control")], [201, "no-store"]);
  const { id, secret, ...fields } = answer.json;
  assertMatch(secret, /^apk_eu_[0-9a-f]{32}$/);
  assertEquals(fields, {
    kind: "api_key",
    name: "ci",
    scopes: ["read"],
    created_at: at(),
    revoked_at: null,
    ends_at: null,
    replaced_by: null,
    replaces: old.id,
  });
  const record = await listed(h, old.id);
  assertEquals([record.ends_at, record.replaced_by], [at(24 * HOUR_MS), id]);
  h.nowMs += 24 * HOUR_MS - 1;
  assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [404, 404]);
  h.nowMs += 1;
  // Both were answered from the cache a moment ago.
  assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [401, 404]);
});

Harness.test("decision 4: with an overlap of 0 the old secret stops with the response", async (h) => {
  const old = await makeKey(h);
  assertEquals(await statusOf(h, old.secret), 404);
  const { secret } = (await rotate(h, old.id, { overlap_hours: 0 })).json;
  assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [401, 404]);
});

/** Starts the sweep clock like a service, which the test harness does not do. */
async function sweepOnce(h: Harness): Promise<void> {
  await h.sweep.handle();
}

/** Waits until a credential is marked as ended. */
async function marked(h: Harness, secret: string): Promise<void> {
  for await (const [entry] of h.store.reader.watch<[{ hasEnded?: boolean }]>([keyOf(secret)])) {
    if (entry.value?.hasEnded === true) return;
  }
}

const keyOf = (secret: string) => keys.credential(hashOf(secret));

Harness.test("an expired rotated key stays expired when the clock is set back", async (h) => {
  await sweepOnce(h);
  const old = await makeKey(h);
  const { secret } = (await rotate(h, old.id, { overlap_hours: 1 })).json;
  const session = await signedIn(h, old.secret);
  h.nowMs += HOUR_MS;
  assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [401, 404]);
  await marked(h, old.secret);
  for (const backMs of [HOUR_MS, 24 * HOUR_MS, 300 * 24 * HOUR_MS]) {
    h.nowMs -= backMs;
    // At first it may still be cached.
    if (backMs > HOUR_MS) h.credentials.forget();
    assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [401, 404]);
    assertEquals((await session.get("/dashboard")).status, 303);
  }
  const record = await listed(h, old.id);
  assertEquals([record.revoked_at, record.ends_at], [null, at(HOUR_MS)]);
});

Harness.test("the end of a rotated key is stored with one write, however often it is refused", async (h) => {
  await sweepOnce(h);
  const old = await makeKey(h);
  await rotate(h, old.id, { overlap_hours: 1 });
  h.nowMs += HOUR_MS;
  await statusOf(h, old.secret);
  await marked(h, old.secret);
  const before = await h.dump();
  for (let n = 0; n < 5; n++) {
    h.credentials.forget();
    assertEquals(await statusOf(h, old.secret), 401);
  }
  assertEquals(await h.dump(), before);
});

Harness.test("a clock far ahead for a minute refuses a rotated key, but does not end it permanently", async (h) => {
  await sweepOnce(h);
  const old = await makeKey(h);
  await rotate(h, old.id, { overlap_hours: 168 });
  h.nowMs += 45 * 24 * HOUR_MS;
  assertEquals(await statusOf(h, old.secret), 401);
  await h.store.writer.idle();
  h.nowMs -= 45 * 24 * HOUR_MS;
  h.credentials.forget();
  assertEquals(await statusOf(h, old.secret), 404);
});

Harness.test("a key that rotates itself does not end immediately: a lost response would leave no working secret", async (h) => {
  const own = await makeKey(h, { scopes: ["admin"] });
  const rotateOwn = (overlap_hours: number, key = own.secret) =>
    h.post(`/v1/keys/${own.id}/rotate`, { overlap_hours }, { key });
  const before = await h.dump();
  const refused = await rotateOwn(0);
  assertEquals([refused.status, refused.json.error, refused.json.field], [
    400,
    "invalid_field",
    "overlap_hours",
  ]);
  assertEquals(await h.dump(), before);
  // This response is lost: the old secret finds the existing key and rotates that one.
  assertEquals((await rotateOwn(1)).status, 201);
  const again = await rotateOwn(1);
  const successor = /"(key_eu_[0-9a-f]{32})"/.exec(again.json.message)?.[1] ?? "";
  const next = await h.post(`/v1/keys/${successor}/rotate`, { overlap_hours: 0 }, {
    key: own.secret,
  });
  assertEquals([again.status, next.status], [409, 201]);
  const { secret } = next.json;
  assertEquals((await h.request("DELETE", `/v1/keys/${own.id}`, { key: secret })).status, 200);
  assertEquals([await statusOf(h, own.secret)], [401]);
  assertEquals((await h.get("/v1/keys", { key: secret })).status, 200);
});

Harness.test("a repeated rotation creates no other secret and names the existing key", async (h) => {
  const old = await makeKey(h);
  const first = (await rotate(h, old.id)).json;
  const before = await h.dump();
  const again = await rotate(h, old.id);
  assertEquals([again.status, again.json.error], [409, "credential_ended"]);
  assertStringIncludes(again.json.message, first.id);
  assertEquals(await h.dump(), before);
  // A client that lost the response rotates the successor, which adds one more secret.
  const second = (await rotate(h, first.id, { overlap_hours: 0 })).json;
  assertEquals(await statusOf(h, second.secret), 404);
  assertEquals(await statusOf(h, first.secret), 401);
});

Harness.test("of many concurrent rotations of one key one creates a secret", async (h) => {
  const old = await makeKey(h);
  const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(h, old.id)));
  const statuses = answers.map(({ status }) => status).sort();
  assertEquals(statuses, [201, ...Array(9).fill(409)]);
  assertEquals((await h.get("/v1/keys")).json.keys.length, 3);
});

Harness.test("a revoked key is not rotated, and a rotated one can still be revoked immediately", async (h) => {
  const [gone, old] = [await makeKey(h), await makeKey(h)];
  await h.request("DELETE", `/v1/keys/${gone.id}`);
  assertEquals((await rotate(h, gone.id)).json.error, "credential_ended");
  const { secret } = (await rotate(h, old.id)).json;
  assertEquals((await h.request("DELETE", `/v1/keys/${old.id}`)).status, 200);
  assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [401, 404]);
});

Harness.test("a rotated ping token keeps its agent", async (h) => {
  const created = await makeKey(h, { kind: "ping_token", agent: "nightly" });
  const { secret, agent } = (await rotate(h, created.id)).json;
  assertMatch(secret, /^ping_eu_/);
  assertEquals(agent, "nightly");
  for (const key of [created.secret, secret]) {
    assertEquals((await h.get("/v1/ping", { key })).status, 200);
  }
});

Harness.test("GET /v1/keys lists the tokens of one agent, page by page, each once", async (h) => {
  const ids: string[] = [];
  for (let n = 0; n < 7; n++) {
    h.nowMs += 1;
    const agent = n % 2 === 0 ? "nightly" : "other";
    const { id } = await makeKey(h, { kind: "ping_token", agent });
    if (agent === "nightly") ids.push(id);
  }
  const seen: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: Answer = await h.get(
      `/v1/keys?agent=nightly&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    const { keys } = page.json;
    assert(keys.length <= 2);
    seen.push(...keys.map(({ id }: Made) => id));
    cursor = page.json.cursor;
    // A key created meanwhile is listed after all others and disturbs no page.
    if (seen.length === 2) {
      h.nowMs += 1;
      ids.push((await makeKey(h, { kind: "ping_token", agent: "nightly" })).id);
    }
  }
  assertEquals(seen, ids);
  assertEquals((await h.get("/v1/keys?agent=nobody")).json, { keys: [], cursor: null });
  for (const query of ["limit=0", "limit=501", "cursor=x", "agent=%20"]) {
    assertEquals((await h.get(`/v1/keys?${query}`)).status, 400, query);
  }
});

oneInstance.test("last_used_at shows a use without a write for it", async (h) => {
  const { id, secret } = await makeKey(h);
  assertEquals((await listed(h, id)).last_used_at, null);
  const before = await h.dump();
  h.nowMs += 1_000;
  await statusOf(h, secret);
  assertEquals((await listed(h, id)).last_used_at, at(1_000));
  assertEquals(await h.dump(), before);
});

Harness.test("last_used_at is written once an hour per key, survives a restart, and never moves back", async (h) => {
  const { id, secret } = await makeKey(h);
  const rows = async () =>
    (await h.dump()).filter((line) => line.includes("credential_use") && line.includes(id));
  await statusOf(h, secret);
  await h.credentials.writeUses();
  const [first] = await rows();
  assert(first !== undefined);
  for (let minutes = 1; minutes < 60; minutes++) {
    h.nowMs += 60_000;
    h.credentials.forget();
    await statusOf(h, secret);
    await h.credentials.writeUses();
  }
  assertEquals(await rows(), [first]);
  h.nowMs += 60_000;
  h.credentials.forget();
  await statusOf(h, secret);
  await h.credentials.writeUses();
  assert((await rows())[0] !== first, "an hour later it is written again");
  h.nowMs += 60_000;
  h.credentials.forget();
  await statusOf(h, secret);
  await h.credentials.writeUses(true);
  const used = at(61 * 60_000);
  await h.restart();
  assertEquals((await listed(h, id)).last_used_at, used);
  const options = { region: "eu", refusedSecret: null } as const;
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const behind = createCredentialStore(h.store, { now: () => h.nowMs - HOUR_MS, random }, options);
  await behind.find(secret);
  await behind.writeUses(true);
  assertEquals((await listed(h, id)).last_used_at, used);
});

/** Maximum time that another instance may accept a revoked key. */
const NOTICED_WITHIN_MS = 10_000;

/** Another instance on the same store, with its own cache. */
function anotherInstance(h: Harness): CredentialStore {
  const environment = {
    now: () => h.nowMs,
    random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  return createCredentialStore(h.store, environment, { region: "eu", refusedSecret: null });
}

/** Moves the monotonic clock, which expires cached credentials, until disposed. */
function monotonicClockAheadBy(ms: number): Disposable {
  const { now } = performance;
  return stub(performance, "now", () => now.call(performance) + ms);
}

Harness.test("decision 4: in the same process the next request is refused", async (h) => {
  const { id, secret } = await makeKey(h, { scopes: ["ingest", "read"] });
  assertEquals((await h.post("/v1/runs", aRun(1), { key: secret })).status, 202);
  assertEquals((await h.request("DELETE", `/v1/keys/${id}`)).status, 200);
  const after = await h.post("/v1/runs", aRun(2), { key: secret });
  assertEquals([after.status, after.json.error], [401, "invalid_credential"]);
  assertEquals((await h.get(`/v1/runs/${runId(2)}`)).status, 404);
  assertEquals(await h.usage(), 1);
});

Harness.test("decision 4: requests racing with the revocation cannot restore the key", async (h) => {
  const { id, secret } = await makeKey(h, { scopes: ["ingest", "read"] });
  const racing = Array.from(
    { length: 20 },
    (_, n) =>
      n === 10
        ? h.request("DELETE", `/v1/keys/${id}`)
        : h.get(`/v1/runs/${runId(n)}`, { key: secret }),
  );
  for (const { status } of await Promise.all(racing)) {
    assert([200, 401, 404].includes(status), `status ${status}`);
  }
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 401);
});

Harness.test("decision 4: another instance refuses a revoked key within 10 s", async (h) => {
  const { id, secret } = await makeKey(h, { scopes: ["ingest", "read"] });
  // This request puts the key into the serving instance's cache.
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 404);
  const revoked = await anotherInstance(h).revoke(h.team, id, "test");
  assertEquals(revoked?.revokedAt, h.nowMs);
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  const after = await h.get(`/v1/runs/${runId(1)}`, { key: secret });
  assertEquals([after.status, after.json.error], [401, "invalid_credential"]);
});

Harness.test("decision 4: using a key does not extend its time in the cache", async (h) => {
  const { id, secret } = await makeKey(h, { scopes: ["ingest", "read"] });
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 404);
  await anotherInstance(h).revoke(h.team, id, "test");
  for (const ms of [2_500, 5_000, 7_500]) {
    using _clock = monotonicClockAheadBy(ms);
    await h.get(`/v1/runs/${runId(1)}`, { key: secret });
  }
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 401);
});

Harness.test("decision 4: a key created by another instance works here immediately", async (h) => {
  const spec = { name: "new", grant: { kind: "api_key", scopes: ["read"] } } as const;
  const { secret } = await anotherInstance(h).create(h.team, spec, "test");
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 404);
});

Harness.test("decision 4: a key refused as unknown works once it exists", async (h) => {
  const missing = `apk_eu_${"9".repeat(32)}`;
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: missing })).status, 401);
  const { id, secret } = await makeKey(h, { scopes: ["ingest", "read"] });
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 404);
  await h.request("DELETE", `/v1/keys/${id}`);
  await h.restart();
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 401);
});
