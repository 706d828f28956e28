/** Key pages: create, show once, rotate, revoke. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { secretIn, session, signedIn, textOf, walk } from "../support/harness/dashboard.ts";
import { Harness, NOON } from "../support/harness/harness.ts";

const KEYS = "/dashboard/keys";
const HOUR_MS = 3_600_000;

/** Returns the credentials of a team by name, as the API lists them. */
async function keysOf(h: Harness) {
  const { keys } = (await h.get("/v1/keys")).json;
  // deno-lint-ignore no-explicit-any -- answers are not typed
  return new Map<string, any>(keys.map((key: { name: string }) => [key.name, key]));
}

session.test("a key created by the form works with the chosen scopes, and its secret is shown once", async ({ h, reader }) => {
  assertMatch(
    (await reader.get(`${KEYS}/new`)).text,
    /<form[^>]* method="post" action="\/dashboard\/keys"/,
  );
  const created = await reader.send(KEYS, { kind: "api_key", name: "worker", scopes: "read" });
  assertEquals(created.status, 201);
  assertEquals(created.headers.get("cache-control"), "no-store");
  const secret = secretIn(created.text);
  assertMatch(secret, /^apk_eu_[0-9a-f]{32}$/);
  assertMatch(textOf(created.text), /shown this once/);
  assert(created.text.includes(`RUNLEDGER_KEY=${secret}`), "a line that uses it");
  assert(created.text.includes(`${h.url}/v1/runs`), "the line calls this service");
  assertEquals((await h.get("/v1/runs", { key: secret })).status, 200);
  assertEquals((await h.get("/v1/keys", { key: secret })).status, 403);
  for (const path of [KEYS, `${KEYS}?id=${(await keysOf(h)).get("worker").id}`]) {
    assert(!(await reader.get(path)).text.includes(secret), path);
  }
});

session.test("a ping token is shown with a line for the crontab, and that line's ping is counted", async ({ h, reader }) => {
  assertMatch(
    (await reader.get(`${KEYS}/new?kind=ping_token&agent=nightly`)).text,
    /value="nightly"/,
  );
  const created = await reader.send(KEYS, { kind: "ping_token", name: "host", agent: "nightly" });
  const secret = secretIn(created.text);
  const page = textOf(created.text);
  assert(page.includes(`RUNLEDGER_TOKEN=${secret}`));
  const line = `-u "$RUNLEDGER_TOKEN:" "${h.url}/v1/ping?exit_code=$?"`;
  assert(page.includes(line), page);
  assertMatch(created.text, /href="\/dashboard\/agents\/nightly"/);
  const basic = { Authorization: `Basic ${btoa(`${secret}:`)}` };
  const ping = await h.get("/v1/ping?exit_code=0", { key: null, headers: basic });
  assertEquals(ping.status, 200);
  assertEquals((await h.getFinal("/v1/agents/nightly")).json.succeeded, 1);
});

session.test("rotation asks for confirmation, shows the new secret once, and the old one works until it expires", async ({ h, reader }) => {
  const old = secretIn(
    (await reader.send(KEYS, { kind: "api_key", name: "w", scopes: "read" })).text,
  );
  const { id } = (await keysOf(h)).get("w");
  const form = await reader.get(`${KEYS}?confirm=rotate&id=${id}`);
  assertMatch(form.text, new RegExp(`action="${KEYS}/${id}/rotate"`));
  const rotated = await reader.send(`${KEYS}/${id}/rotate`, { overlap_hours: "5" });
  assertEquals(rotated.status, 201);
  const fresh = secretIn(rotated.text);
  const works = async (key: string) => (await h.get("/v1/runs", { key })).status === 200;
  assertEquals([await works(old), await works(fresh), old === fresh], [true, true, false]);
  assertMatch(textOf(rotated.text), /old secret works, expires in 5 h/);
  const list = await reader.words(KEYS);
  assertMatch(list, /w API key: reads works, expires in 5 h , its replacement/);
  const loaded = await reader.get(`${KEYS}/${id}/rotate`);
  assertEquals([loaded.status, loaded.headers.get("location")], [303, `${KEYS}?id=${id}`]);
  const again = await reader.send(`${KEYS}/${id}/rotate`, { overlap_hours: "5" });
  assertEquals(again.status, 409);
  assertMatch(textOf(again.text), /was replaced by/);
  h.nowMs = NOON + 5 * HOUR_MS;
  assertEquals([await works(old), await works(fresh)], [false, true]);
  assertMatch(await reader.words(`${KEYS}?id=${id}`), /State expired/);
});

Harness.test("revoking asks for confirmation, and revoking the session's own key warns and signs out", async (h) => {
  const key = await h.addKey({ kind: "api_key", scopes: ["read", "admin"] });
  const [reader, other] = [await signedIn(h, key), await signedIn(h)];
  const { id } = (await keysOf(h)).get("test");
  const ask = `${KEYS}?confirm=revoke&id=${id}`;
  assertMatch(await reader.words(ask), /this very key: revoking it signs you out/);
  assert(!(await other.words(ask)).includes("this very key"));
  assertMatch(await reader.words(KEYS), /test you are signed in with it/);
  assertEquals(
    (await h.get("/v1/runs", { key })).status,
    200,
    "the confirmation page changes nothing",
  );
  const revoked = await reader.send(`${KEYS}/${id}/revoke`);
  assertEquals([revoked.status, revoked.headers.get("location")], [303, `${KEYS}?id=${id}`]);
  assertEquals((await h.get("/v1/runs", { key })).status, 401);
  assertEquals((await reader.get(KEYS)).status, 303, "signed out");
  const page = await other.get(`${KEYS}?confirm=revoke&id=${id}`);
  assertMatch(textOf(page.text), /revoked just now/);
  assert(!page.text.includes(`/${id}/revoke`), "no form for a revoked key");
});

session.test("the key list is paged, also for one agent's tokens, and its texts are escaped", async ({ h, reader }) => {
  const agent = `"><script>alert(1)</script>`;
  for (let n = 1; n <= 3; n++) {
    h.nowMs++;
    await reader.send(KEYS, { kind: "ping_token", name: `<i>host ${n}</i>`, agent });
  }
  const pages = await walk(reader, `${KEYS}?limit=2&agent=${encodeURIComponent(agent)}`);
  assert(pages.every((html) => !/<i>|<script>/.test(html)));
  const hosts = pages.flatMap((html) => [...textOf(html).matchAll(/host (\d)/g)]);
  assertEquals(hosts.map(([, n]) => n), ["1", "2", "3"]);
  assertEquals((await reader.get(`${KEYS}?limit=0`)).status, 400);
  const nobody = await reader.words(`${KEYS}?agent=nobody`);
  assertMatch(nobody, /No ping token here/);
});
