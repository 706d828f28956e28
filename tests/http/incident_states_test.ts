/** Incidents that runs open: their lists, their changes by hand, and where runs and metrics show them. */
import { assertEquals } from "@std/assert";
import { aFinish, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { anIncident, idOfNumber } from "../support/builders/incidents.ts";
import type { IncidentStore } from "../../kv/alerts/incidents.ts";

/** Ends runs of an agent, each a second after the previous one; returns their ids. */
async function beat(h: Harness, agent: string, status: string, times = 1): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < times; n++) {
    h.nowMs += 1_000;
    ids.unshift((await h.post("/v1/heartbeats", { agent, status })).json.id);
    await h.worker.idle();
  }
  return ids;
}

/** Lists incidents as `agent state`. */
async function listed(h: Harness, query = ""): Promise<string[]> {
  const { incidents } = (await h.get(`/v1/incidents?${query}`)).json;
  return incidents.map((each: { group: { agent: string }; state: string }) =>
    `${each.group.agent} ${each.state}`
  );
}

Harness.test("three failures in a row open one incident, which its runs name, and a success ends it", async (h) => {
  const runs = await beat(h, "nightly", "fail", 3);
  const { incidents: [incident], cursor } = (await h.get("/v1/incidents")).json;
  assertEquals(incident, {
    id: incident.id,
    rule: "failures",
    kind: "run_failed",
    severity: "critical",
    state: "open",
    group: { agent: "nightly" },
    opened_at: at(3_000),
    resolved_at: null,
    resolved_by: null,
    duration_seconds: null,
    count: 3,
    value: incident.value,
    threshold: incident.threshold,
    message: "nightly failed 3 times in a row",
    run_ids: runs,
    silenced: false,
    acknowledged: null,
    url: null,
  });
  assertEquals(cursor, null);
  for (const run of runs) {
    assertEquals((await h.get(`/v1/runs/${run}`)).json.incidents, [incident.id]);
  }
  const [success = ""] = await beat(h, "nightly", "ok");
  const after = (await h.get(`/v1/incidents/${incident.id}`)).json;
  assertEquals(
    [after.state, after.resolved_by, after.resolved_at, after.duration_seconds],
    ["resolved", "condition", at(4_000), 1],
  );
  const events = after.timeline.map(({ what }: { what: string }) => what);
  assertEquals([events[0], events.at(-1)], ["opened", "resolved"]);
  assertEquals((await h.get(`/v1/runs/${success}`)).json.incidents, []);
});

operator.test("lists of incidents: filters, pages, latest first, and no other team's", async (h) => {
  const other = await h.addTeam("business");
  for (const agent of ["a", "b", "c"]) await beat(h, agent, "fail", 3);
  await beat(h, "b", "ok");
  const [newest, , oldest] = (await h.get("/v1/incidents")).json.incidents;
  await h.post(`/v1/incidents/${oldest.id}/ack`, {});
  assertEquals(await listed(h), ["c open", "b resolved", "a acknowledged"]);
  const filters: [string, string[]][] = [
    ["state=open", ["c open"]],
    ["state=unresolved", ["c open", "a acknowledged"]],
    ["state=acknowledged", ["a acknowledged"]],
    ["state=resolved", ["b resolved"]],
    ["agent=b", ["b resolved"]],
    ["rule=failures&severity=critical&agent=a", ["a acknowledged"]],
    ["rule=missed", []],
    ["severity=warning", []],
    [`from=${oldest.opened_at}&to=${newest.opened_at}`, ["b resolved", "a acknowledged"]],
  ];
  for (const [query, expected] of filters) assertEquals(await listed(h, query), expected, query);
  const pages: string[] = [];
  for (let query = "limit=1"; query !== "";) {
    const { incidents, cursor } = (await h.get(`/v1/incidents?${query}`)).json;
    pages.push(...incidents.map((each: { group: { agent: string } }) => each.group.agent));
    query = cursor === null ? "" : `limit=1&cursor=${cursor}`;
  }
  assertEquals(pages, ["c", "b", "a"]);
  assertEquals((await h.get("/v1/incidents", { key: other.key })).json.incidents, []);
  for (const [method, action] of [["GET", ""], ["POST", "/ack"], ["POST", "/resolve"]] as const) {
    const path = `/v1/incidents/${oldest.id}${action}`;
    assertEquals((await h.request(method, path, { key: other.key })).status, 404, path);
  }
  const metric = /^runledger_incidents_open\{.*$/gm;
  const metricsOf = async (key: string) => (await h.get("/metrics", { key })).text.match(metric);
  const counts = (critical: number) => [
    `runledger_incidents_open{severity="critical"} ${critical}`,
    'runledger_incidents_open{severity="warning"} 0',
    'runledger_incidents_open{severity="info"} 0',
  ];
  assertEquals(await metricsOf(h.key), counts(2));
  assertEquals(await metricsOf(other.key), counts(0));
  assertEquals(await metricsOf(OPERATOR_KEY), counts(2));
});

Harness.test("acknowledge and resolve by hand: once, with the note, and in the audit log", async (h) => {
  await beat(h, "nightly", "fail", 3);
  const { incidents: [{ id }] } = (await h.get("/v1/incidents")).json;
  h.nowMs = NOON + 60_000;
  const ack = await h.post(`/v1/incidents/${id}/ack`, { note: "on it" });
  assertEquals([ack.status, ack.json.state], [200, "acknowledged"]);
  const { by, ...rest } = ack.json.acknowledged;
  assertEquals([by.startsWith("key_eu_"), rest], [true, { at: at(60_000), note: "on it" }]);
  h.nowMs += 1_000;
  assertEquals((await h.post(`/v1/incidents/${id}/ack`, { note: "me too" })).text, ack.text);
  const resolved = await h.request("POST", `/v1/incidents/${id}/resolve`);
  assertEquals([resolved.json.state, resolved.json.resolved_by], ["resolved", "hand"]);
  assertEquals(resolved.json.timeline.at(-1), {
    at: at(61_000),
    what: "resolved",
    resolved_by: "hand",
    by,
    note: null,
  });
  for (const action of ["ack", "resolve"]) {
    assertEquals((await h.post(`/v1/incidents/${id}/${action}`, {})).text, resolved.text);
  }
  const { entries } = (await h.get("/v1/audit")).json;
  const actions = entries.map(({ action, target }: Record<string, string>) =>
    `${action} ${target}`
  );
  assertEquals(actions.filter((each: string) => each.startsWith("incident.")), [
    `incident.resolved ${id}`,
    `incident.acknowledged ${id}`,
  ]);
  assertEquals(await listed(h), ["nightly resolved"]);
  await beat(h, "nightly", "fail");
  assertEquals((await listed(h))[0], "nightly open");
});

const ONE = idOfNumber("inc", 1);

Deno.test("GET an incident: its facts, and each kind of entry of its timeline", async () => {
  const run = runId(1) as RunId;
  const by = "key_eu_1";
  const incident = anIncident({
    runs: [run],
    timeline: [
      { at: NOON, what: "opened", count: 3 },
      { at: NOON + 1, what: "notified", channels: ["ops"] },
      { at: NOON + 2, what: "repeated", run },
      { at: NOON + 3, what: "repeated", run: null },
      { at: NOON + 4, what: "left_out", entries: 9 },
      { at: NOON + 5, what: "acknowledged", by, note: null },
      { at: NOON + 6, what: "silenced", channels: [] },
      { at: NOON + 7, what: "resolved", resolvedBy: "condition", by: null, note: null },
    ],
  });
  const incidents: Partial<IncidentStore> = { read: () => Promise.resolve(incident) };
  const deps = { incidents: incidents as IncidentStore, publicUrl: "https://runs.example.org" };
  await using h = await Harness.open({ deps });
  assertEquals((await h.get(`/v1/incidents/${ONE}`)).json, {
    id: ONE,
    rule: "failures",
    kind: "run_failed",
    severity: "critical",
    state: "open",
    group: { agent: "nightly" },
    opened_at: at(),
    resolved_at: null,
    resolved_by: null,
    duration_seconds: null,
    count: 3,
    value: 3,
    threshold: 3,
    message: "nightly failed 3 times in a row",
    run_ids: [run],
    silenced: false,
    acknowledged: null,
    url: `https://runs.example.org/dashboard/alerts/incidents/${ONE}`,
    timeline: [
      { at: at(), what: "opened", count: 3 },
      { at: at(1), what: "notified", channels: ["ops"] },
      { at: at(2), what: "repeated", run_id: run },
      { at: at(3), what: "repeated", run_id: null },
      { at: at(4), what: "left_out", entries: 9 },
      { at: at(5), what: "acknowledged", by, note: null },
      { at: at(6), what: "silenced", channels: [] },
      { at: at(7), what: "resolved", resolved_by: "condition", by: null, note: null },
    ],
  });
});

Harness.test("incidents: a run that one names shows alerts as done, also if it is about a price", async (h) => {
  const path = `/v1/runs/${runId(1)}`;
  await h.post("/v1/runs", aRun(1));
  const data = { model: "no-such-model", input_tokens: 10, output_tokens: 1 };
  await h.post(`${path}/events`, { events: [{ ...anEvent(1), type: "llm_call", data }] });
  await h.post(`${path}/finish`, aFinish());
  await h.worker.idle();
  const { json } = await h.get(path);
  assertEquals([json.cost.unpriced_models, json.incidents.length], [["no-such-model"], 1]);
  assertEquals(json.processing[2], { stage: "alerts", state: "done", attempts: 1, at: at() });
});
