/** The monitor of an agent, its proposals and its audit entries. */
import { fixture } from "../support/harness/fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { aHeartbeat, at } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const DAY_S = 86_400;
const DAILY = { schedule: { every_seconds: DAY_S }, grace_seconds: 3_600 };
const AT_TWO = { schedule: { cron: "0 2 * * *", tz: "Europe/Berlin" } };

function pathOf(agent: string, action = ""): string {
  return `/v1/agents/${encodeURIComponent(agent)}/monitor${action}`;
}

function put(h: Harness, agent: string, body: unknown): Promise<Answer> {
  return h.request("PUT", pathOf(agent), { body });
}

/** Opens a service in which agents have ended a run. */
async function openWith(...agents: string[]): Promise<Harness> {
  const h = await Harness.open();
  for (const agent of agents) await h.post("/v1/heartbeats", { agent });
  await h.worker.idle();
  return h;
}

async function auditOf(h: Harness) {
  const { entries } = (await h.get("/v1/audit")).json;
  return entries.filter(({ action }: { action: string }) => action.startsWith("monitor."));
}

/** Declares tests of a service with one agent. */
const nightly = { test: fixture(() => openWith("nightly")) };

nightly.test("PUT a monitor: what is not sent has a default, and sending it changes nothing", async (h) => {
  const first = await put(h, "nightly", DAILY);
  assertEquals(first.json, {
    ...first.json,
    agent: "nightly",
    last_arrival_at: at(),
    last_ok_at: at(),
    ...DAILY,
    max_runtime_seconds: null,
    failure_threshold: 1,
    recovery_threshold: 1,
    enabled: true,
    state: "up",
    since: at(),
    pause: null,
    running: 0,
    failing: 0,
    expected_at: at(DAY_S * 1_000),
    down_after: at((DAY_S + 3_600) * 1_000),
    blocked_by: null,
  });
  h.nowMs += 1_000;
  const again = await put(h, "nightly", { ...DAILY, enabled: true, max_runtime_seconds: null });
  assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, "true"]);
  assertEquals(again.text, first.text);
  const { schedule, words } = (await put(h, "nightly", AT_TWO)).json;
  assertEquals(schedule, AT_TWO.schedule);
  assertStringIncludes(words, "02:00");
});

nightly.test("PUT a monitor: concurrent calls each make one version, or one of them wins by its version", async (h) => {
  const all = (version?: number) =>
    Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        put(h, "nightly", { ...DAILY, grace_seconds: n, version })),
    );
  const versions = (await all()).map(({ json }) => json.version);
  assertEquals(versions.toSorted((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  await put(h, "nightly", DAILY);
  const statuses = (await all(11)).map(({ status }) => status);
  assertEquals(statuses.filter((status) => status === 202).length, 1);
  assertEquals(statuses.filter((status) => status === 409).length, 9);
  assertEquals((await auditOf(h)).length, 12);
});

Deno.test("a monitor: a slug with slashes and other characters is decoded once", async () => {
  const slugs = ["a/b", "a%2Fb", "naïve 🦉", "monitor", "agents", "a/monitor"];
  await using h = await openWith(...slugs);
  for (const agent of slugs) {
    assertEquals((await put(h, agent, DAILY)).json.agent, agent);
    assertEquals((await h.get(pathOf(agent))).json.agent, agent);
  }
  const listed = (await h.get("/v1/monitors")).json.monitors;
  assertEquals(listed.map(({ agent }: { agent: string }) => agent), slugs.toSorted());
});

nightly.test("GET an agent: its monitor and a proposal, both null without one", async (h) => {
  const bare = (await h.get("/v1/agents/nightly")).json;
  assertEquals([bare.monitor, bare.proposal], [null, null]);
  const { json } = await put(h, "nightly", DAILY);
  assertEquals((await h.get("/v1/agents/nightly")).json, { ...bare, monitor: json });
  const { next, uptime_30d, proposal, ...monitor } = (await h.get(pathOf("nightly"))).json;
  // Nothing was judged yet.
  assertEquals([monitor, uptime_30d, proposal], [json, null, null]);
  assertEquals(next, [1, 2, 3, 4, 5].map((day) => at(day * DAY_S * 1_000)));
  h.nowMs += 1_000;
  assertEquals((await h.get(pathOf("nightly"))).json.uptime_30d, 1);
  // The list stays as small as it was.
  assertEquals("monitor" in (await h.get("/v1/agents")).json.agents[0], false);
});

Harness.test("a proposal: hourly runs propose a schedule that PUT accepts, in the zone that is asked for", async (h) => {
  for (let n = 1; n <= 12; n++) {
    await h.post("/v1/heartbeats", aHeartbeat(n));
    h.nowMs += 3_600_000;
  }
  await h.worker.idle();
  const { proposal } = (await h.get("/v1/agents/nightly?tz=Asia/Tokyo")).json;
  assertEquals([proposal.from_runs, proposal.hits], [12, 1]);
  const { schedule, grace_seconds } = proposal;
  assertEquals((await put(h, "nightly", { schedule, grace_seconds })).status, 202);
  assertEquals((await h.get(`${pathOf("nightly")}?tz=Asia/Tokyo`)).json.proposal, proposal);
  for (const path of ["/v1/agents/nightly", pathOf("nightly")]) {
    const { status, json } = await h.get(`${path}?tz=Nowhere`);
    assertEquals([status, json.error, json.field], [400, "invalid_field", "tz"]);
  }
});

Harness.test("a proposal: runs that are imported at once propose the schedule by which they ended", async (h) => {
  for (let n = 1; n <= 12; n++) {
    const finished_at = new Date(h.nowMs - n * 3_600_000).toISOString();
    const started_at = new Date(h.nowMs - n * 3_600_000 - 90_000).toISOString();
    await h.post("/v1/heartbeats", { ...aHeartbeat(n), started_at, finished_at });
  }
  await h.worker.idle();
  const { proposal } = (await h.get("/v1/agents/nightly")).json;
  assertEquals(proposal.schedule, { every_seconds: 3_600 });
});

nightly.test("DELETE a monitor: its settings are returned, and no flips remain", async (h) => {
  const stored = (await put(h, "nightly", DAILY)).json;
  const { agent, schedule } = (await h.request("DELETE", pathOf("nightly"))).json;
  assertEquals([agent, schedule], ["nightly", DAILY.schedule]);
  assertEquals((await h.get("/v1/agents/nightly")).json.monitor, null);
  h.nowMs += 1_000;
  const created = (await put(h, "nightly", DAILY)).json;
  assertEquals([created.version, created.id === stored.id], [1, false]);
  const { flips } = (await h.get("/v1/agents/nightly/flips")).json;
  assertEquals(flips.map((flip: { at: string }) => flip.at), [at(1_000)]);
});

nightly.test("the audit log: each change of a monitor once, also pauses, with its credential", async (h) => {
  const key = (await h.post("/v1/keys", { kind: "api_key", name: "ci", scopes: ["admin"] })).json;
  const as = { key: key.secret };
  const call = (method: string, action: string, body?: unknown) =>
    h.request(method, pathOf("nightly", action), { ...as, ...body === undefined ? {} : { body } });
  await call("PUT", "", DAILY);
  await call("PUT", "", { ...DAILY, version: 7 });
  await call("POST", "/pause", {});
  await call("POST", "/resume");
  await call("POST", "/resume");
  await call("DELETE", "");
  await call("DELETE", "");
  const entries = (await auditOf(h)).toReversed();
  assertEquals(entries.map(({ action }: { action: string }) => action), [
    "monitor.put",
    "monitor.paused",
    "monitor.resumed",
    "monitor.deleted",
  ]);
  for (const { target, actor } of entries) {
    assertEquals([target, actor], ["nightly", { id: key.id, name: "ci" }]);
  }
});

Deno.test("monitors: pages of any size contain each once, also those of one state", async () => {
  const agents = ["b", "é", "a b", "a", "Z"];
  await using h = await openWith(...agents);
  for (const agent of agents) await put(h, agent, DAILY);
  await h.post(pathOf("a", "/pause"), {});
  const read = async (query: string, limit: number) => {
    const slugs: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const { json } = await h.get(`/v1/monitors?limit=${limit}${query}${more}`);
      assert(json.monitors.length <= limit);
      slugs.push(...json.monitors.map(({ agent }: { agent: string }) => agent));
      cursor = json.cursor;
    }
    return slugs;
  };
  for (const limit of [1, 2, 4, 5, 6]) {
    assertEquals(await read("", limit), ["Z", "a", "a b", "b", "é"]);
    assertEquals(await read("&state=up", limit), ["Z", "a b", "b", "é"]);
    assertEquals(await read("&state=paused", limit), ["a"]);
    assertEquals(await read("&state=down", limit), []);
  }
});
