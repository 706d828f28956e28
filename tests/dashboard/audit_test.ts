/** The audit log page. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { aHeartbeat } from "../support/builders/requests.ts";
import { rowsOf, session, signedIn, walk } from "../support/harness/dashboard.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { PRICE } from "../support/builders/rate_cards.ts";

const AUDIT = "/dashboard/audit";
const DAY_MS = 86_400_000;

Harness.test("audit entries show actor, action and target, newest first, with links to the targets", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { agent: "a/b" }));
  h.nowMs = NOON + 1_000;
  const { id } =
    (await h.post("/v1/keys", { kind: "api_key", name: "worker", scopes: ["read"] })).json;
  h.nowMs = NOON + 2_000;
  await h.request("PATCH", "/v1/agents/a%2Fb", { body: { notes: "watch <it>" } });
  h.nowMs = NOON + 3_600_000;
  const { status, text } = await (await signedIn(h)).get(AUDIT);
  assertEquals(status, 200);
  const rows = rowsOf(text);
  assertMatch(
    rows[0] ?? "",
    /^today 12:00 first key changed the agent a\/b notes: none → watch <it>$/,
  );
  assertMatch(
    rows[1] ?? "",
    /^today 12:00 first key created the key worker kind: api_key .*scopes: read$/,
  );
  assertMatch(rows.at(-1) ?? "", /created the team .* created at: 2026-11-21 12:00:00 UTC$/);
  assert(text.includes('href="/dashboard/agents/a%2Fb"'));
  assert(text.includes(`href="/dashboard/keys?id=${id}"`));
  assert(
    text.includes(`datetime="2026-11-21T12:00:02.000Z" title="2026-11-21 12:00:02 UTC"`),
    "the exact instant on hover",
  );
  assert(!text.includes("watch <it>"));
});

Harness.test("entries of prices and repricing jobs omit absent details and link to their pages", async (h) => {
  await h.request("PUT", "/v1/rate-card", { body: PRICE });
  h.nowMs = NOON + 1_000;
  const { id } =
    (await h.post("/v1/rate-card/reprice", { model: PRICE.model, dry_run: true })).json;
  const { text } = await (await signedIn(h)).get(AUDIT);
  const [job = "", price = ""] = rowsOf(text);
  assertMatch(job, /first key previewed new prices of atlas-70b /);
  assertMatch(price, /first key set the price of atlas-70b .* output usd per million: \S+$/);
  assert(text.includes(`href="/dashboard/rate-card/reprice/${id}"`));
});

Harness.test("day filters include both ends, instants work as in the API, and pages keep the filters", async (h) => {
  for (let n = 1; n <= 5; n++) {
    h.nowMs = NOON + n * DAY_MS;
    await h.post("/v1/keys", { kind: "api_key", name: `k${n}`, scopes: ["read"] });
  }
  const reader = await signedIn(h);
  const names = async (query: string) =>
    (await walk(reader, `${AUDIT}?${query}`)).flatMap(rowsOf)
      .flatMap((row) => /k\d/.exec(row)?.[0] ?? []);
  assertEquals(await names("from=2026-11-23&to=2026-11-25&limit=1"), ["k4", "k3", "k2"]);
  assertEquals(await names("from=2026-11-23T12:00:00.001Z&limit=2"), ["k5", "k4", "k3"]);
  assertEquals(await names("to=2026-11-22"), ["k1"]);
  assertMatch(await reader.words(`${AUDIT}?from=2027-01-01`), /Nothing changed/);
  for (const query of ["from=yesterday", "from=2026-02-30", "to=x", "cursor=x", "limit=0"]) {
    assertEquals((await reader.get(`${AUDIT}?${query}`)).status, 400, query);
  }
});

session.test("entries are found by who made them and by what they change, on every page", async ({ h, reader }) => {
  const key = await h.addKey({ kind: "api_key", scopes: ["admin"] });
  const body = { kind: "run_failed", params: { consecutive: 2 } };
  assertEquals((await h.request("PUT", "/v1/rules/mine", { key, body })).status, 202);
  await h.post("/v1/keys", { kind: "api_key", name: "third", scopes: ["read"] });
  const { text } = await reader.get(`${AUDIT}?who=&what=rule&from=&to=&limit=1`);
  const [rule = "", ...others] = rowsOf(text);
  assertEquals(others, []);
  assertMatch(rule, /^today 12:00 test set the rule mine /);
  assert(!/none|match|renotify/.test(rule), rule);
  const [, id = ""] = /<option value="([^"]+)"[^>]*>test</.exec(text) ?? [];
  assertEquals(rowsOf((await reader.get(`${AUDIT}?who=${id}`)).text), [rule]);
  assertMatch(await reader.words(`${AUDIT}?what=silence`), /Nothing changed/);
});
