/** Failed credentials are slow to guess with, and nobody behind the same address notices. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { FailedTries, networkOf } from "../../domain/plan/failed_tries.ts";
import { createRequestLimits } from "../../domain/plan/rate_limit.ts";
import { FAILED_TRIES } from "../../domain/limits.ts";
import { aHeartbeat, runId } from "../support/builders.ts";
import { Harness } from "../support/harness.ts";

const WRONG = `apk_eu_${"0".repeat(32)}`;

async function open() {
  const clock = { ms: 0 };
  const h = await Harness.open({ deps: { limits: createRequestLimits(() => clock.ms) } });
  const tryWith = (key: string | null) => h.get("/v1/keys", { key });
  const fail = async (times: number) => {
    for (let n = 0; n < times; n++) assertEquals((await tryWith(WRONG)).status, 401);
  };
  return { h, clock, tryWith, fail, [Symbol.asyncDispose]: () => h[Symbol.asyncDispose]() };
}

Deno.test("30 credentials a minute may fail from an address, further ones are 429", async () => {
  await using t = await open();
  await t.fail(29);
  t.clock.ms = 20_000;
  await t.fail(1);
  const refused = await t.tryWith(WRONG);
  assertEquals([refused.status, refused.json.error], [429, "rate_limit"]);
  assertMatch(refused.json.message, /did not work: retry after 40 s$/);
  assertEquals(refused.headers.get("retry-after"), "40");
  const others = ["www-authenticate", "ratelimit", "ratelimit-policy"];
  assertEquals(others.map((name) => refused.headers.get(name)), [null, null, null]);
  t.clock.ms = 59_999;
  assertEquals((await t.tryWith(WRONG)).headers.get("retry-after"), "1");
  t.clock.ms = 60_000;
  await t.fail(29);
  assertEquals((await t.tryWith(WRONG)).headers.get("retry-after"), "20");
});

Deno.test("every way to fail counts: none, malformed, of another region, unknown, revoked", async () => {
  await using t = await open();
  const revoked = await t.h.addKey({ kind: "api_key", scopes: ["read"] });
  const { json } = await t.h.get("/v1/keys");
  const id = json.keys.find(({ name }: { name: string }) => name === "test").id;
  assertEquals((await t.h.request("DELETE", `/v1/keys/${id}`)).status, 200);
  const bad = [null, "nonsense", WRONG.replace("_eu_", "_us_"), WRONG, revoked];
  for (let n = 0; n < 30; n++) {
    assertEquals((await t.tryWith(bad[n % bad.length] ?? null)).status, 401);
  }
  for (const key of bad) assertEquals((await t.tryWith(key)).status, 429);
});

Deno.test("a credential that works is never hurt by others behind its address", async () => {
  await using t = await open();
  const token = await t.h.addKey({ kind: "ping_token", agent: "a" });
  await t.fail(30);
  for (let n = 0; n < 50; n++) assertEquals((await t.tryWith(WRONG)).status, 429);
  assertEquals((await t.tryWith(t.h.key)).status, 200);
  assertEquals((await t.h.post("/v1/heartbeats", aHeartbeat(1))).status, 202);
  // A token that works where it may keeps its own answer where it may not, and does not count.
  const scope = await t.tryWith(token);
  assertEquals([scope.status, scope.json.error], [401, "scope_violation"]);
  assertEquals((await t.h.get(`/v1/ping?id=${runId(2)}`, { key: token })).status, 200);
});

Deno.test("another address has tries of its own", async () => {
  await using t = await open();
  await t.fail(30);
  assertEquals((await t.tryWith(WRONG)).status, 429);
  using client = Deno.createHttpClient({ localAddress: "127.0.0.2" });
  const answer = await fetch(`${t.h.url}/v1/keys`, { client });
  assertEquals([answer.status, (await answer.json()).error], [401, "invalid_credential"]);
});

Deno.test("a failed ping's 429 is a line of text", async () => {
  await using t = await open();
  await t.fail(30);
  const refused = await t.h.get("/v1/ping?agent=a&key=nonsense", { key: null });
  assertEquals([refused.status, refused.headers.get("x-error-code")], [429, "rate_limit"]);
  assertMatch(refused.text, /^rate_limit Too many credentials .*\n$/);
});

Deno.test("in any minute an address is told about 30 failures, and never about fewer", () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 50, maxLength: 200 });
  fc.assert(
    fc.property(gaps, (list) => {
      const tries = new FailedTries();
      const counted: number[] = [];
      let nowMs = 0;
      for (const gap of list) {
        nowMs += gap;
        const recent = counted.filter((ms) => ms > nowMs - FAILED_TRIES.windowMs);
        const wait = tries.count("192.0.2.1", nowMs);
        assertEquals(wait === 0, recent.length < FAILED_TRIES.max);
        if (wait === 0) counted.push(nowMs);
        else assertEquals(wait, Math.ceil(((recent[0] ?? 0) + 60_000 - nowMs) / 1_000));
      }
    }),
  );
});

Deno.test("an address is an IPv4 address or an IPv6 network of 64 bits", () => {
  const networks: readonly (readonly [string, string])[] = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["2001:db8:1:2:3::", "2001:db8:1:2::/64"],
  ];
  for (const [address, network] of networks) assertEquals(networkOf(address), network, address);
  const tries = new FailedTries();
  for (let n = 0; n < 30; n++) assertEquals(tries.count(`2001:db8:1:2::${n}`, 0), 0);
  assert(tries.count("2001:db8:1:2:ffff::", 0) > 0);
  assertEquals(tries.count("2001:db8:1:3::1", 0), 0);
});

Deno.test("beyond the addresses that are remembered the one that failed longest ago is forgotten", () => {
  const tries = new FailedTries(3);
  const fillUp = (address: string) => {
    for (let n = 0; n < 30; n++) tries.count(address, 0);
  };
  for (const address of ["a", "b", "c"]) fillUp(address);
  // Refused ones count as failing too: whoever goes on stays remembered.
  assert(tries.count("a", 0) > 0);
  tries.count("d", 0);
  assert(tries.count("a", 0) > 0 && tries.count("c", 0) > 0);
  assertEquals(tries.count("b", 0), 0);
});
