/** `POST /v1/keys/{id}/rotate`, and when keys were last used (decision 4). */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createCredentialStore } from "../../kv/teams/credentials.ts";
import { at, runId } from "../support/builders.ts";
import { type Answer, Harness } from "../support/harness.ts";

const HOUR_MS = 3_600_000;

interface Made {
  readonly id: string;
  readonly secret: string;
}

async function makeKey(h: Harness, more: Record<string, unknown> = {}): Promise<Made> {
  const body = { kind: "api_key", name: "ci", scopes: ["read"], ...more };
  const answer = await h.post("/v1/keys", body);
  assertEquals(answer.status, 201);
  return answer.json;
}

function rotate(h: Harness, id: string, body: unknown = {}): Promise<Answer> {
  return h.post(`/v1/keys/${id}/rotate`, body);
}

/** What a secret is told on a route of its scope: 404 lets it in. */
async function statusOf(h: Harness, secret: string): Promise<number> {
  return (await h.get(`/v1/runs/${runId(1)}`, { key: secret })).status;
}

async function listed(h: Harness, id: string): Promise<Record<string, unknown>> {
  const { keys } = (await h.get("/v1/keys")).json;
  return keys.find((key: { id: string }) => key.id === id);
}

Deno.test("decision 4: a rotated key works beside its successor for a day, and then no longer", async () => {
  await using h = await Harness.open();
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
  // Both were answered from memory a moment ago.
  assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [401, 404]);
});

Deno.test("decision 4: with an overlap of 0 the old secret stops with the answer", async () => {
  await using h = await Harness.open();
  const old = await makeKey(h);
  assertEquals(await statusOf(h, old.secret), 404);
  const { secret } = (await rotate(h, old.id, { overlap_hours: 0 })).json;
  assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [401, 404]);
});

Deno.test("a rotation that is sent again makes no other secret and says which key there is", async () => {
  await using h = await Harness.open();
  const old = await makeKey(h);
  const first = (await rotate(h, old.id)).json;
  const before = await h.dump();
  const again = await rotate(h, old.id);
  assertEquals([again.status, again.json.error], [409, "credential_ended"]);
  assertStringIncludes(again.json.message, first.id);
  assertEquals(await h.dump(), before);
  // Whose answer was lost rotates the successor, and has one secret more than before.
  const second = (await rotate(h, first.id, { overlap_hours: 0 })).json;
  assertEquals(await statusOf(h, second.secret), 404);
  assertEquals(await statusOf(h, first.secret), 401);
});

Deno.test("of many rotations of one key at once one makes a secret", async () => {
  await using h = await Harness.open();
  const old = await makeKey(h);
  const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(h, old.id)));
  const statuses = answers.map(({ status }) => status).sort();
  assertEquals(statuses, [201, ...Array(9).fill(409)]);
  assertEquals((await h.get("/v1/keys")).json.keys.length, 3);
});

Deno.test("a revoked key is not rotated, and a rotated one can still be revoked at once", async () => {
  await using h = await Harness.open();
  const [gone, old] = [await makeKey(h), await makeKey(h)];
  await h.request("DELETE", `/v1/keys/${gone.id}`);
  assertEquals((await rotate(h, gone.id)).json.error, "credential_ended");
  const { secret } = (await rotate(h, old.id)).json;
  assertEquals((await h.request("DELETE", `/v1/keys/${old.id}`)).status, 200);
  assertEquals([await statusOf(h, old.secret), await statusOf(h, secret)], [401, 404]);
});

Deno.test("a rotated ping token goes on for its agent", async () => {
  await using h = await Harness.open();
  const made = await makeKey(h, { kind: "ping_token", agent: "nightly" });
  const { secret, agent } = (await rotate(h, made.id)).json;
  assertMatch(secret, /^ping_eu_/);
  assertEquals(agent, "nightly");
  for (const key of [made.secret, secret]) {
    assertEquals((await h.get("/v1/ping", { key })).status, 200);
  }
});

Deno.test("overlap_hours is a whole number of hours of at most a week", async () => {
  await using h = await Harness.open();
  const { id } = await makeKey(h);
  for (const overlap_hours of [-1, 169, 1.5, "1", true]) {
    const { status, json } = await rotate(h, id, { overlap_hours });
    assertEquals([status, json.error, json.field], [400, "invalid_field", "overlap_hours"]);
  }
  assertEquals((await rotate(h, id, { overlap_hours: 168 })).status, 201);
});

Deno.test("GET /v1/keys lists the tokens of one agent, page by page, each once", async () => {
  await using h = await Harness.open();
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
    // One that is made meanwhile is behind all others and disturbs no page.
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

Deno.test("last_used_at tells of a use without a write for it", async () => {
  await using h = await Harness.open();
  const { id, secret } = await makeKey(h);
  assertEquals((await listed(h, id)).last_used_at, null);
  const before = await h.dump();
  h.nowMs += 1_000;
  await statusOf(h, secret);
  assertEquals((await listed(h, id)).last_used_at, at(1_000));
  assertEquals(await h.dump(), before);
});

Deno.test("last_used_at is written once an hour for a key, survives a restart, and never goes back", async () => {
  await using h = await Harness.open();
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
