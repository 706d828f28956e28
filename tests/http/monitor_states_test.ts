/** States of monitors as the API shows them: late, down, up again, and paused. */
import { assertEquals } from "@std/assert";
import { at } from "../support/builders/requests.ts";
import { fixture } from "../support/harness/fixture.ts";
import { Harness, NOON, oneInstance } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

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
