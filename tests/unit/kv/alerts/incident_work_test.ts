/** Work on incidents: what has expired or was removed leaves them and their messages. */
import { workOf } from "../../../../kv/work/store.ts";
import { assertEquals } from "@std/assert";
import type { Incident } from "../../../../domain/alerts/incident.ts";
import type { Delivery } from "../../../../domain/channels/delivery.ts";
import type { Work } from "../../../../domain/work/work.ts";
import type { Team } from "../../../../domain/teams/team.ts";
import { createIncidentWork } from "../../../../kv/alerts/incident_work.ts";
import { incidentSet, readIncident } from "../../../../kv/alerts/rows.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { verifyStore } from "../../../../kv/integrity/integrity.ts";
import type { Store } from "../../../../kv/store.ts";
import { TeamCommit } from "../../../../kv/summaries/team_commit.ts";
import { anIncident } from "../../../support/builders/incidents.ts";
import { storeIncident } from "../../../support/builders/stored_incidents.ts";
import { run } from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { DAY_MS, RetentionHarness } from "../../../support/harness/retention_harness.ts";

const INCIDENT = anIncident({ runs: [run(2), run(1)], error: "no such file" });

/** Two failed runs of a team with an incident. */
async function failed(h: RetentionHarness): Promise<Team> {
  const team = await h.addTeam("free");
  for (const n of [1, 2]) {
    await h.runs.open(team, { id: run(n), agent: "a", startedAt: NOON }, NOON);
    await h.runs.finish(team, run(n), { status: "failed", finishedAt: NOON }, NOON);
  }
  await h.work();
  await storeIncident(h.store, team.id, INCIDENT);
  return team;
}

async function due(store: Store, toMs: number): Promise<Work[]> {
  const rows = await Array.fromAsync(
    store.reader.list(keys.workTo("settled", toMs)),
    workOf,
  );
  return rows.filter(({ kind }) => kind === "incident");
}

/** Does the work on incidents that is due. */
async function work(h: RetentionHarness): Promise<void> {
  const handler = createIncidentWork({ store: h.store, changes: new TeamCommit(h.store, null) });
  const turn = { nowMs: h.nowMs, absences: [], summarizedToMs: h.nowMs };
  await handler.handle(await due(h.store, h.nowMs), turn, new AbortController().signal);
}

async function read(h: RetentionHarness, team: Team) {
  const incident = await readIncident(h.store, team.id, INCIDENT.id);
  const deliveries = h.store.reader.list<Delivery>({ prefix: keys.deliveries(team.id) });
  const sent = await Array.fromAsync(deliveries, ({ value }) => value.message.incident);
  const factsOf = (facts: { runs: readonly string[]; error: string | null } | null) =>
    facts && [facts.runs, facts.error];
  return { incident: factsOf(incident), sent: sent.map(factsOf) };
}

RetentionHarness.test("incidents: a deleted run leaves the incident and its messages, with its error", async (h) => {
  const team = await failed(h);
  await h.deletions.deleteRun(team, run(1), "key_1");
  await work(h);
  const older = [[run(2)], "no such file"];
  assertEquals(await read(h, team), { incident: older, sent: [older, older] });
  await h.deletions.deleteRun(team, run(2), "key_1");
  assertEquals((await due(h.store, NOON)).map(({ name }) => name), [INCIDENT.id]);
  await work(h);
  const none = [[], null];
  assertEquals(await read(h, team), { incident: none, sent: [none, none] });
  assertEquals(
    await h.keysBelow(["run"]).then((rows) =>
      rows.filter((key) => key.length > 3 && key[3] === "incidents")
    ),
    [],
  );
  assertEquals((await verifyStore(h.store, { pauseMs: 0 })).differences, []);
});

RetentionHarness.test("incidents: the error goes with the payloads, the incident with the records", async (h) => {
  const team = await failed(h);
  h.nowMs = NOON + 7 * DAY_MS + 1;
  await work(h);
  const silent = [[run(2), run(1)], null];
  assertEquals(await read(h, team), { incident: silent, sent: [silent, silent] });
  // It is kept while it is open.
  for (let day = 8; day < 60; day++) {
    h.nowMs = NOON + day * DAY_MS;
    await work(h);
  }
  assertEquals((await read(h, team)).incident, silent);
  const incident = await readIncident(h.store, team.id, INCIDENT.id) as Incident;
  await h.store.writer.commit({
    sets: [incidentSet(team.id, { ...incident, state: "resolved", resolvedAt: h.nowMs })],
    deletes: [
      keys.openIncident(team.id, INCIDENT.id),
      keys.alert(team.id, INCIDENT.rule, INCIDENT.groupText),
      keys.alertState(team.id),
    ],
  });
  const resolvedMs = h.nowMs;
  for (let day = 1; day < 30; day++) {
    h.nowMs = resolvedMs + day * DAY_MS;
    await work(h);
  }
  assertEquals((await read(h, team)).incident, silent);
  h.nowMs = resolvedMs + 31 * DAY_MS;
  await work(h);
  assertEquals((await read(h, team)).incident, null);
  assertEquals(await due(h.store, Infinity), []);
  assertEquals((await verifyStore(h.store, { pauseMs: 0 })).differences, []);
});

RetentionHarness.test("incidents: a machine's clock that jumps ahead removes nothing", async (h) => {
  const team = await failed(h);
  await h.sweeps.startClock(NOON);
  h.nowMs = NOON + 3_650 * DAY_MS;
  await work(h);
  const all = [[run(2), run(1)], "no such file"];
  assertEquals(await read(h, team), { incident: all, sent: [all, all] });
  assertEquals((await due(h.store, Infinity)).length, 1);
});
