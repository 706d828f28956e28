/** Propagation of a revocation, here and in other instances (decision 4). */
import { assert, assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { createCredentialStore, type CredentialStore } from "../../kv/teams/credentials.ts";
import { aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

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

async function makeKey(h: Harness): Promise<{ id: string; secret: string }> {
  const body = { kind: "api_key", name: "short-lived", scopes: ["ingest", "read"] };
  return (await h.post("/v1/keys", body)).json;
}

Harness.test("decision 4: in the same process the next request is refused", async (h) => {
  const { id, secret } = await makeKey(h);
  assertEquals((await h.post("/v1/runs", aRun(1), { key: secret })).status, 202);
  assertEquals((await h.request("DELETE", `/v1/keys/${id}`)).status, 200);
  const after = await h.post("/v1/runs", aRun(2), { key: secret });
  assertEquals([after.status, after.json.error], [401, "invalid_credential"]);
  assertEquals((await h.get(`/v1/runs/${runId(2)}`)).status, 404);
  assertEquals(await h.usage(), 1);
});

Harness.test("decision 4: requests racing with the revocation cannot restore the key", async (h) => {
  const { id, secret } = await makeKey(h);
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
  const { id, secret } = await makeKey(h);
  // This request puts the key into the serving instance's cache.
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 404);
  const revoked = await anotherInstance(h).revoke(h.team, id, "test");
  assertEquals(revoked?.revokedAt, h.nowMs);
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  const after = await h.get(`/v1/runs/${runId(1)}`, { key: secret });
  assertEquals([after.status, after.json.error], [401, "invalid_credential"]);
});

Harness.test("decision 4: using a key does not extend its time in the cache", async (h) => {
  const { id, secret } = await makeKey(h);
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
  const { id, secret } = await makeKey(h);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 404);
  await h.request("DELETE", `/v1/keys/${id}`);
  await h.restart();
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status, 401);
});
