/** Pings that create a monitor (decision 114). */
import { assertEquals } from "@std/assert";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { MonitorStore } from "../../kv/monitors/store.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { aFinish, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

/** Pings, and returns the status and the dropped parameters. */
async function ping(h: Harness, query: string, key = h.key, method = "GET") {
  const { status, headers } = await h.request(method, `/v1/ping?${query}`, { key });
  return [status, headers.get("runledger-dropped")];
}

async function monitorOf(h: Harness, agent: string) {
  const { status, json } = await h.getFinal(`/v1/agents/${agent}/monitor`);
  return status === 404 ? null : json;
}

Harness.test("decision 114: every, grace, cron and tz create a monitor where there is none", async (h) => {
  const token = await h.addKey({ kind: "ping_token", agent: "backup" });
  assertEquals(await ping(h, "every=1d&grace=2h", token), [200, null]);
  const backup = await monitorOf(h, "backup");
  assertEquals([backup.schedule, backup.grace_seconds], [{ every_seconds: 86_400 }, 7_200]);
  assertEquals([backup.state, backup.version], ["up", 1]);
  assertEquals(
    await ping(h, "agent=report&cron=0+2+*+*+1-5&tz=Europe/Berlin", h.key, "HEAD"),
    [200, null],
  );
  const { schedule } = await monitorOf(h, "report");
  assertEquals(schedule, { cron: "0 2 * * 1-5", tz: "Europe/Berlin" });
  assertEquals(await ping(h, "agent=hourly&cron=@hourly"), [200, null]);
  assertEquals((await monitorOf(h, "hourly")).schedule, { cron: "@hourly", tz: "UTC" });
  // Later pings change nothing, not even after a change through the API.
  const before = await monitorOf(h, "backup");
  assertEquals(await ping(h, "every=15m", token), [200, null]);
  const { schedule: kept, grace_seconds, version } = await monitorOf(h, "backup");
  assertEquals([kept, grace_seconds, version], [before.schedule, 7_200, 1]);
  const put = await h.request("PUT", "/v1/agents/backup/monitor", {
    body: { schedule: { every_seconds: 600 } },
  });
  assertEquals(put.status, 202, put.text);
  await ping(h, "every=1d", token);
  assertEquals((await monitorOf(h, "backup")).schedule, { every_seconds: 600 });
  const { entries } = (await h.get("/v1/audit")).json;
  const created = entries.filter(({ action, target }: { action: string; target: string }) =>
    action === "monitor.put" && target === "backup"
  );
  assertEquals(created.length, 2);
});

Harness.test("decision 114: the outcome of the ping that creates a monitor counts", async (h) => {
  const cases = [["ok", "up", 0], ["fail", "down", 1], ["timeout", "down", 1], ["start", "new", 0]];
  for (const [status, state, failing] of cases) {
    await ping(h, `agent=${status}&status=${status}&every=1h`);
    const monitor = await monitorOf(h, String(status));
    assertEquals([monitor.state, monitor.failing], [state, failing], String(status));
  }
});

Harness.test("decision 114: a monitor is created when its ping arrives, also if the run had finished before", async (h) => {
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  h.nowMs += 7_200_000;
  await ping(h, `agent=backup&id=${runId(1)}&every=1h`);
  const monitor = await monitorOf(h, "backup");
  assertEquals([monitor.state, monitor.created_at], ["up", formatInstant(h.nowMs - 1)]);
  assertEquals(monitor.expected_at, formatInstant(h.nowMs + 3_600_000));
});

Harness.test("decision 114: of pings and a PUT that race, one creates the monitor", async (h) => {
  await ping(h, "agent=cron");
  const put = h.request("PUT", "/v1/agents/cron/monitor", {
    body: { schedule: { every_seconds: 600 } },
  });
  const pings = Array.from({ length: 20 }, (_, n) => ping(h, `agent=cron&every=${n + 1}h`));
  assertEquals((await put).status, 202);
  assertEquals(await Promise.all(pings), Array.from({ length: 20 }, () => [200, null]));
  const { schedule, version } = await monitorOf(h, "cron");
  const { entries } = (await h.get("/v1/audit")).json;
  const made = entries.filter(({ action }: { action: string }) => action === "monitor.put");
  // The PUT counts always: it creates the monitor, or replaces the settings of a ping.
  assertEquals([schedule, version], [{ every_seconds: 600 }, made.length]);
  assertEquals(made.filter(({ details }: Answer["json"]) => details.before === null).length, 1);
});

const EVERY = "every must be a number and a unit, such as 90s, 15m, 2h or 1d: got";
const CRON =
  "cron must be a cron expression of 5 or 6 fields such as 0 2 * * *, or a nickname such as " +
  "@daily: got";
const SECONDS = "in seconds must be an integer from";

/** Wrong parameters of a monitor, the reason in the answer, and `Runledger-Dropped`. */
const WRONG: readonly (readonly [query: string, reason: string, dropped: string])[] = [
  ["every=1w", `${EVERY} "1w"`, "every=1"],
  ["every=59s", `every ${SECONDS} 60 to 31536000: got 59`, "every=1"],
  ["every=1d&cron=@daily", "send either every or cron", "every=1, cron=1"],
  ["every=1d&tz=UTC&grace=1h", "tz needs cron", "every=1, tz=1, grace=1"],
  ["cron=daily", `${CRON} "daily"`, "cron=1"],
  ["cron=0+2+*+*&tz=Europe/Berlin", `${CRON} "0 2 * *"`, "cron=1, tz=1"],
  [
    "cron=0+0+*+*+*&tz=Mars/Olympus",
    'tz must be an IANA time zone such as Europe/Berlin: got "Mars/Olympus"',
    "cron=1, tz=1",
  ],
  ["grace=1h", "grace needs every or cron", "grace=1"],
  ["tz=UTC", "tz needs cron", "tz=1"],
  ["every=1d&grace=soon", `${EVERY.replace("every", "grace")} "soon"`, "every=1, grace=1"],
  ["every=1d&grace=366d", `grace ${SECONDS} 0 to 31536000: got 31622400`, "every=1, grace=1"],
];

Harness.test("R24: a wrong parameter of a monitor stores the ping, and the answer gives the reason", async (h) => {
  for (const [n, [query, reason, dropped]] of WRONG.entries()) {
    const path = `/v1/ping?agent=a${n}&id=${runId(n)}&${query.replaceAll("@", "%40")}`;
    const plain = await h.get(path);
    assertEquals([plain.status, plain.text], [200, `OK no monitor: ${reason}\n`], query);
    assertEquals(plain.headers.get("runledger-dropped"), dropped, query);
    const { json } = await h.get(path, { headers: { Accept: "application/json" } });
    assertEquals([json.id, json.no_monitor], [runId(n), reason], query);
    assertEquals(await ping(h, `agent=a${n}&${query}`, h.key, "HEAD"), [200, dropped], query);
    const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assertEquals([run.status, run.flags], ["success", []]);
  }
  await h.worker.idle();
  assertEquals((await h.get("/v1/monitors")).json.monitors, []);
});

Harness.test("decision 114: a refused ping creates no monitor", async (h) => {
  for (const query of ["every=1d", "agent=a&every=1d&status=no", "agent=a&every=1d&exit_code=x"]) {
    assertEquals((await ping(h, query))[0], 400);
  }
  const token = await h.addKey({ kind: "ping_token", agent: "other" });
  assertEquals((await ping(h, "agent=a&every=1d", token))[0], 401);
  await h.worker.idle();
  assertEquals((await h.get("/v1/monitors")).json.monitors, []);
});

Deno.test("decision 114: a store that fails after the ping drops the schedule, and the next ping creates it", async () => {
  const failing = {
    createMissing: () => Promise.reject(new StorageUnavailable("for the test")),
  } as unknown as MonitorStore;
  await using h = await Harness.open({ deps: { monitors: failing } });
  for (const [query, dropped] of [["every=1d", "every=1"], ["cron=@daily", "cron=1"]] as const) {
    assertEquals(await ping(h, `agent=cron&${query}`), [200, dropped]);
  }
  const { text } = await h.get("/v1/ping?agent=cron&every=1d");
  assertEquals(text, "OK no monitor: the store did not answer, the next ping tries again\n");
  assertEquals(await h.usage(), 3);
});
