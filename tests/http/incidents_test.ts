/** Incidents over the API: list, read, acknowledge, resolve. */
import { assertEquals } from "@std/assert";
import type { Incident, IncidentsQuery } from "../../domain/alerts/incident.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { aFinish, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { anIncident, idOfNumber } from "../support/builders/incidents.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import type { IncidentStore } from "../../kv/alerts/incidents.ts";

const ONE = idOfNumber("inc", 1);

/** A store of one incident that notes the queries it gets. */
function fakeStore(incident: Incident) {
  const queries: IncidentsQuery[] = [];
  const notes: (string | null)[] = [];
  const store: Partial<IncidentStore> = {
    list: (_team, query) => {
      queries.push(query);
      const next = query.after === null ? { at: NOON, id: ONE } : null;
      return Promise.resolve({ incidents: [incident], next });
    },
    read: (_team, id) => Promise.resolve(id === ONE ? incident : null),
    acknowledge: (_team, id, note) => {
      notes.push(note);
      return Promise.resolve(id === ONE ? incident : null);
    },
  };
  return { queries, notes, store: store as IncidentStore };
}

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
  const deps = { incidents: fakeStore(incident).store, publicUrl: "https://runs.example.org" };
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
