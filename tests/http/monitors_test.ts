/** The monitor of an agent: its settings, its proposals, its states, and its audit entries. */
import { fixture } from "../support/harness/fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { aHeartbeat, at } from "../support/builders/requests.ts";
import { type Answer, Harness, NOON, oneInstance } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

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

const PATH = "/v1/agents/nightly/monitor";

/** Milliseconds that the clock is late. */
const LATE_MS = 2_000;

/** Opens a service with an agent that is expected every five minutes. */
async function openMonitored(): Promise<Harness> {
  const h = await Harness.open();
  await h.post("/v1/heartbeats", { agent: "nightly" });
  await h.worker.idle();
  const body = { schedule: { every_seconds: 300 }, grace_seconds: 120 };
  assertEquals((await h.request("PUT", PATH, { body })).status, 202);
  return h;
}

/** Moves the clock in steps that are no absence, and lets the jobs work. */
async function advance(h: Harness, seconds: number): Promise<void> {
  const endMs = NOON + seconds * 1_000 + LATE_MS;
  while (h.nowMs < endMs) {
    h.nowMs = Math.min(h.nowMs + 59_000, endMs);
    await h.worker.idle();
    await h.work.idle();
  }
}

async function stateOf(h: Harness): Promise<unknown[]> {
  const { state, since, failing, expected_at } = (await h.getFinal(PATH)).json;
  return [state, Date.parse(since) - NOON, failing, Date.parse(expected_at) - NOON];
}

const monitored = { test: fixture(openMonitored) };
const monitoredAlone = { test: fixture(openMonitored, ofInstance) };

monitoredAlone.test("a monitor is late and down at its deadlines, and up again with the next success", async (h) => {
  assertEquals(await stateOf(h), ["up", 0, 0, 300_000]);
  await advance(h, 299);
  assertEquals((await stateOf(h))[0], "up");
  await advance(h, 300);
  assertEquals(await stateOf(h), ["late", 300_000, 0, 300_000]);
  await advance(h, 420);
  assertEquals((await stateOf(h)).slice(0, 2), ["down", 420_000]);
  const { monitors } = (await h.get("/v1/monitors?state=down")).json;
  assertEquals(monitors.map(({ agent }: { agent: string }) => agent), ["nightly"]);
  const metrics = (await h.get("/metrics")).text;
  assertEquals(
    /^runledger_monitor_up.*$/m.exec(metrics)?.[0],
    'runledger_monitor_up{agent="nightly"} 0',
  );
  h.nowMs = NOON + 500_000;
  await h.post("/v1/heartbeats", { agent: "nightly" });
  assertEquals(await stateOf(h), ["up", 500_000, 0, 800_000]);
  const { flips } = (await h.get("/v1/agents/nightly/flips")).json;
  assertEquals(
    flips.map((flip: Record<string, string>) => [flip.at, flip.from, flip.to, flip.reason]),
    [
      [at(500_000), "down", "up", "recovered"],
      [at(420_000), "late", "down", "missed"],
      [at(300_000), "up", "late", "expected"],
      [at(), null, "up", "created"],
    ],
  );
  h.nowMs = NOON + 600_000;
  assertEquals((await h.get(PATH)).json.uptime_30d, 0.8666);
});

monitored.test("the monitor of an archived agent is paused until the agent is restored", async (h) => {
  const archive = (archived: boolean) =>
    h.request("PATCH", "/v1/agents/nightly", { body: { archived } });
  await archive(true);
  for (const action of ["", "/resume"]) {
    const sent = action === "" ? h.get(PATH) : h.request("POST", PATH + action);
    const { status, json } = await sent;
    assertEquals([status, json.state, json.expected_at], [200, "paused", null]);
  }
  assertEquals((await h.get("/v1/agents/nightly")).json.monitor.state, "paused");
  await archive(false);
  assertEquals((await h.get(PATH)).json.state, "up");
});

monitored.test("pause and resume: an empty body, an end, sticky, repeats, and their flips", async (h) => {
  h.nowMs += 1_000;
  const paused = await h.request("POST", `${PATH}/pause`);
  assertEquals(paused.status, 200, paused.text);
  const { state, since, pause, expected_at, down_after } = paused.json;
  assertEquals({ state, since, pause, expected_at, down_after }, {
    state: "paused",
    since: at(1_000),
    pause: { until: null, sticky: false },
    expected_at: null,
    down_after: null,
  });
  assertEquals((await h.get(PATH)).json.next, []);
  h.nowMs += 1_000;
  const until = at(60_000);
  const again = await h.post(`${PATH}/pause`, { until, sticky: true });
  assertEquals([again.json.pause, again.json.since], [{ until, sticky: true }, at(1_000)]);
  assertEquals((await h.get("/v1/monitors?state=paused")).json.monitors, [again.json]);
  const resumed = await h.request("POST", `${PATH}/resume`);
  assertEquals([resumed.status, resumed.json.state, resumed.json.pause], [200, "up", null]);
  assertEquals(resumed.json.since, at(2_000));
  const repeat = await h.request("POST", `${PATH}/resume`);
  assertEquals([repeat.status, repeat.text], [200, resumed.text]);
  const { flips } = (await h.get("/v1/agents/nightly/flips")).json;
  const flip = (ms: number, from: string | null, to: string, reason: string) => ({
    ...{ at: at(ms), until: null, from, to, reason, run_id: null },
  });
  assertEquals(flips, [
    flip(2_000, "paused", "up", "resumed"),
    flip(1_000, "up", "paused", "paused"),
    flip(0, null, "up", "created"),
  ]);
});

monitored.test("flips: pages and bounds", async (h) => {
  for (const action of ["/pause", "/resume", "/pause", "/resume"]) {
    h.nowMs += 1_000;
    await h.request("POST", PATH + action);
  }
  const path = "/v1/agents/nightly/flips";
  const times: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const { json } = await h.get(`${path}?limit=2${more}`);
    times.push(...json.flips.map((flip: { at: string }) => flip.at));
    cursor = json.cursor;
  }
  assertEquals(times, [4, 3, 2, 1, 0].map((seconds) => at(seconds * 1_000)));
  const within = (await h.get(`${path}?from=${at(1_000)}&to=${at(3_000)}`)).json.flips;
  assertEquals(within.map((flip: { at: string }) => flip.at), [at(2_000), at(1_000)]);
});

oneInstance.test("the first monitor is not down after a stop before the clock's next turn (decision 51)", async (h) => {
  await h.post("/v1/heartbeats", { agent: "nightly" });
  await h.worker.idle();
  await h.work.idle();
  const body = { schedule: { every_seconds: 300 }, grace_seconds: 120 };
  assertEquals((await h.request("PUT", PATH, { body })).status, 202);
  await h.restart(() => {
    h.nowMs += 600_000;
    return Promise.resolve();
  });
  await h.worker.idle();
  await h.work.idle();
  assertEquals((await h.getFinal(PATH)).json.state, "up");
});
