/** `/v1/teams`: the operator's changes to teams, and when they take effect. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createTeamStore } from "../../kv/teams/teams.ts";
import { aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import { aTeam, operate, operator, OPERATOR_KEY } from "../support/harness/operator.ts";
import { monotonicClockAheadBy, NOTICED_WITHIN_MS } from "../support/builders/rate_cards.ts";

const TEAM_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

function change(h: Harness, id: string, fields: unknown): Promise<Answer> {
  return operate(h, "PATCH", `/v1/teams/${id}`, fields);
}

operator.test("POST /v1/teams creates a team whose first key works immediately and is shown only once", async (h) => {
  const answer = await operate(h, "POST", "/v1/teams", {
    name: "Acme",
    tier: "team",
    owner_email: "owner@example.com",
  });
  assertEquals([answer.status, answer.headers.get("cache-control")], [201, "no-store"]);
  const { id, key, ...fields } = answer.json;
  assertMatch(id, TEAM_ID);
  assertEquals(fields, {
    name: "Acme",
    tier: "team",
    owner_email: "owner@example.com",
    rate: null,
    limits: null,
    suspended: false,
    suspended_at: null,
    created_at: at(),
  });
  assertEquals(key.scopes, ["ingest", "read", "admin"]);
  assertEquals((await h.post("/v1/runs", aRun(1), { key: key.secret })).status, 202);
  const read = await operate(h, "GET", `/v1/teams/${id}`);
  assertEquals(read.json, { id, ...fields });
  assert(!read.text.includes("apk_"));
});

operator.test("a team's id reveals nothing about another's", async (h) => {
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) ids.push((await aTeam(h)).id);
  // Time-ordered names begin alike; these use at least half of all leading digits.
  assert(new Set(ids.map((id) => id[0])).size > 8, ids.join());
  assert(new Set(ids.map((id) => id.slice(0, 4))).size === ids.length);
});

operator.test("GET /v1/teams lists every team once, also when teams are created between pages", async (h) => {
  const made = new Set([h.team.id as string]);
  for (let n = 0; n < 6; n++) made.add((await aTeam(h, { name: `team ${n}` })).id);
  const seen: string[] = [];
  let path = "/v1/teams?limit=2";
  for (;;) {
    const { teams, cursor } = (await operate(h, "GET", path)).json;
    assert(teams.length <= 2);
    seen.push(...teams.map(({ id }: { id: string }) => id));
    if (cursor === null) break;
    await aTeam(h, { name: "late" });
    path = `/v1/teams?limit=2&cursor=${cursor}`;
  }
  assertEquals(new Set(seen).size, seen.length);
  for (const id of made) assert(seen.includes(id));
  for (const query of ["limit=0", "limit=501", "cursor=x", "cursor=eA"]) {
    assertEquals((await operate(h, "GET", `/v1/teams?${query}`)).status, 400, query);
  }
});

operator.test("PATCH /v1/teams/{id} changes only the fields sent", async (h) => {
  const { id, key: _, ...team } = await aTeam(h, { owner_email: "a@example.com" });
  const moved = await change(h, id, { tier: "enterprise", rate: { sustained: 3, burst: 7 } });
  const expected = { id, ...team, tier: "enterprise", rate: { sustained: 3, burst: 7 } };
  assertEquals([moved.status, moved.json], [200, expected]);
  const limits = { agents_max: 2, payload_days: 5, record_days: 9, metadata_keys_max: 1 };
  const limited = (await change(h, id, { limits })).json;
  assertEquals(limited.limits, { events_per_month: null, ...limits });
  assertEquals(limited.rate, expected.rate);
  const cleared = (await change(h, id, { rate: null, owner_email: null, name: null })).json;
  assertEquals([cleared.rate, cleared.owner_email, cleared.name], [null, null, "Acme"]);
  // Leaving the plan removes its limits.
  assertEquals((await change(h, id, { tier: "team" })).json.limits, null);
  assertEquals((await change(h, id, { tier: "enterprise" })).json.limits, null);
});

operator.test("the maximum of each team setting is in the table of limits", async (h) => {
  const { id } = await aTeam(h, { tier: "enterprise" });
  const rate = (n: number) => ({ rate: { sustained: n, burst: n } });
  const days = (n: number) => ({ limits: { payload_days: n, record_days: n } });
  const name = (n: number) => ({ name: "n".repeat(n) });
  for (const [of, max] of [[rate, 1_000_000], [days, 1_000_000_000], [name, 128]] as const) {
    assertEquals((await change(h, id, of(max))).status, 200);
    assertEquals((await change(h, id, of(max + 1))).status, 400);
  }
  const kept = await change(h, id, { limits: { payload_days: 9, record_days: 5 } });
  assertEquals([kept.status, kept.json.field], [400, "limits"]);
  assertEquals((await operate(h, "GET", "/v1/teams?limit=500")).status, 200);
});

operator.test("a team's own limits apply: agents, metadata and the month's events", async (h) => {
  const { id, key: { secret: key } } = await aTeam(h, { tier: "enterprise" });
  const metadata = { a: 1, b: 2, c: 3 };
  const limits = { agents_max: 1, metadata_keys_max: 2, events_per_month: 10 };
  assertEquals((await change(h, id, { limits })).status, 200);
  const first = await h.post("/v1/runs", aRun(1, { metadata }), { key });
  assertEquals([first.status, first.headers.get("runledger-dropped")], [202, "metadata=1"]);
  const second = await h.post("/v1/runs", aRun(2, { agent: "second" }), { key });
  assertEquals([second.status, second.json.error], [403, "agent_cap_reached"]);
  assertEquals((await h.get("/v1/usage", { key })).json.included, 10);
  await change(h, id, { limits: null });
  assertEquals((await h.post("/v1/runs", aRun(2, { agent: "second" }), { key })).status, 202);
  assertEquals((await h.get("/v1/usage", { key })).json.included, null);
});

operator.test("a team's own rate is reported on its next request", async (h) => {
  const { id, key: { secret: key } } = await aTeam(h);
  await change(h, id, { rate: { sustained: 3, burst: 6 } });
  const actual = (await h.post("/v1/runs", aRun(1), { key })).headers.get("ratelimit-policy");
  assertEquals(actual, '"ingest";q=6;w=2');
});

operator.test("every call of a suspended team is refused and stores nothing; its data is kept", async (h) => {
  const { id, key: { secret: key } } = await aTeam(h);
  const token = (await h.post("/v1/keys", { kind: "ping_token", name: "t", agent: "nightly" }, {
    key,
  })).json.secret;
  assertEquals((await h.post("/v1/runs", aRun(1), { key })).status, 202);
  const suspended = await change(h, id, { suspended: true });
  assertEquals([suspended.json.suspended, suspended.json.suspended_at], [true, at()]);
  const before = await h.dump();
  for (
    const answer of [
      await h.post("/v1/runs", aRun(2), { key }),
      await h.post("/v1/heartbeats", aHeartbeat(3), { key }),
      await h.get(`/v1/runs/${runId(1)}`, { key }),
      await h.post("/v1/keys", { kind: "api_key", name: "more" }, { key }),
      await h.request("DELETE", `/v1/runs/${runId(1)}`, { key }),
    ]
  ) {
    assertEquals([answer.status, answer.json.error], [403, "forbidden"]);
    assertStringIncludes(answer.json.message, "contact the operator");
  }
  const ping = await h.get("/v1/ping", { key: token });
  assertEquals([ping.status, ping.text.split(" ", 1)], [403, ["forbidden"]]);
  assertEquals(await h.dump(), before);
  // A repeat keeps the first time, and other teams are served throughout.
  h.nowMs += 1_000;
  assertEquals((await change(h, id, { suspended: true })).json.suspended_at, at());
  assertEquals((await h.post("/v1/runs", aRun(2))).status, 202);
  assertEquals((await change(h, id, { suspended: false })).json.suspended_at, null);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key })).status, 200);
});

operator.test("a suspension by another instance takes effect within 10 s", async (h) => {
  const { id, key: { secret: key } } = await aTeam(h);
  assertEquals((await h.post("/v1/runs", aRun(1), { key })).status, 202);
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const there = createTeamStore(h.store, { now: () => h.nowMs, random }, "eu", () => {});
  await there.change(id, { name: undefined, tier: undefined, suspended: true });
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  assertEquals((await h.post("/v1/runs", aRun(2), { key })).status, 403);
});

operator.test("of many concurrent changes of a team none is lost", async (h) => {
  const { id } = await aTeam(h);
  const changes = [{ name: "B" }, { tier: "business" }, { owner_email: "b@example.com" }, {
    rate: { sustained: 5, burst: 5 },
  }, { suspended: true }];
  const answers = await Promise.all(changes.map((fields) => change(h, id, fields)));
  assertEquals(answers.map(({ status }) => status), Array(5).fill(200));
  const { name, tier, owner_email, rate, suspended } = (await operate(
    h,
    "GET",
    `/v1/teams/${id}`,
  )).json;
  const rateSet = { sustained: 5, burst: 5 };
  assertEquals([name, tier, owner_email, rate, suspended], [
    "B",
    "business",
    "b@example.com",
    rateSet,
    true,
  ]);
});

operator.test("POST /v1/teams/{id}/keys restores access for a team that lost every key", async (h) => {
  const { id, key } = await aTeam(h);
  await h.request("DELETE", `/v1/keys/${key.id}`, { key: key.secret });
  assertEquals((await h.get("/v1/keys", { key: key.secret })).status, 401);
  const body = { kind: "api_key", name: "way back", scopes: ["admin"] };
  // Keys of one millisecond have no order.
  h.nowMs += 1;
  const created = await operate(h, "POST", `/v1/teams/${id}/keys`, body);
  assertEquals([created.status, created.headers.get("cache-control")], [201, "no-store"]);
  const { keys } = (await h.get("/v1/keys", { key: created.json.secret })).json;
  assertEquals(keys.map(({ name }: { name: string }) => name), ["first key", "way back"]);
});

operator.test("the operator's key is never in the log, and its requests' lines name no team", async (h) => {
  await aTeam(h);
  await h.get(`/v1/ping?key=${OPERATOR_KEY}`, { key: null });
  const lines = h.log.join("\n");
  assert(!lines.includes(OPERATOR_KEY.slice(-32)));
  assertStringIncludes(lines, '"team":"operator","route":"POST /v1/teams"');
});

operator.test("teams: an owner's address has the maximum length that mail servers accept", async (h) => {
  const address = (local: number, all: number) =>
    `${"a".repeat(local)}@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.`
      .padEnd(all, "e");
  const longest = address(64, 254);
  const { id } = await aTeam(h, { owner_email: longest });
  assertEquals((await operate(h, "GET", `/v1/teams/${id}`)).json.owner_email, longest);
  for (const owner_email of [address(64, 255), address(65, 254), address(64, 70_000)]) {
    const body = { name: "Acme", tier: "free", owner_email };
    const created = await operate(h, "POST", "/v1/teams", body);
    const changed = await operate(h, "PATCH", `/v1/teams/${id}`, { owner_email });
    for (const { status, json } of [created, changed]) {
      assertEquals([status, json.error, json.field], [400, "invalid_field", "owner_email"]);
    }
  }
});
