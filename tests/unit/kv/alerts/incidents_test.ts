/** Incidents: lists, counts, changes by hand, groups beyond the limit, monitors. */
import { assertEquals } from "@std/assert";
import type { IncidentsQuery } from "../../../../domain/alerts/store.ts";
import { createIncidentStore } from "../../../../kv/alerts/incidents.ts";
import { readOverflows } from "../../../../kv/alerts/rows.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { createMonitorStore } from "../../../../kv/monitors/store.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { HOURLY } from "../../../support/harness/monitor_process.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

const ALL: IncidentsQuery = {
  ...{ state: null, rule: null, agent: null, severity: null },
  ...{ fromMs: 0, toMs: Infinity, limit: 100, after: null },
};

const ONE_FAILURE = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;

function storeOf({ store, updater }: AlertProcess) {
  return createIncidentStore({ store, changes: updater });
}

/** Opens incidents of agents, one after the other. */
async function openFor(here: AlertProcess, agents: readonly string[]): Promise<void> {
  await here.putRule("failures", { condition: ONE_FAILURE });
  for (const [i, agent] of agents.entries()) {
    await here.close(i + 1, "failed", NOON + i + 1, { agent });
    await here.work();
  }
}

Deno.test("incidents are listed latest first, by state, rule, agent, severity and time", async () => {
  await using temp = await TempStore.open();
  const here = new AlertProcess(temp.store);
  const incidents = storeOf(here);
  await openFor(here, ["a", "b", "c", "d"]);
  await here.close(9, "success", NOON + 9, { agent: "b" });
  await here.work();
  const agents = async (query: Partial<IncidentsQuery>) => {
    const page = await incidents.list(TEAM, { ...ALL, ...query });
    return [page.incidents.map(({ group }) => group.agent).join(""), page.next?.at ?? null];
  };
  assertEquals(await agents({}), ["dcba", null]);
  assertEquals(await agents({ limit: 3 }), ["dcb", NOON + 2]);
  const { next } = await incidents.list(TEAM, { ...ALL, limit: 3 });
  assertEquals(await agents({ after: next }), ["a", null]);
  assertEquals(await agents({ state: "unresolved" }), ["dca", null]);
  assertEquals(await agents({ state: "unresolved", limit: 2 }), ["dc", NOON + 3]);
  assertEquals(await agents({ state: "resolved" }), ["b", null]);
  assertEquals(await agents({ agent: "c" }), ["c", null]);
  assertEquals(await agents({ rule: "missed" }), ["", null]);
  assertEquals(await agents({ severity: "info" }), ["", null]);
  assertEquals(await agents({ fromMs: NOON + 2, toMs: NOON + 4 }), ["cb", null]);
  assertEquals(await incidents.openCounts(TEAM), { critical: 3, warning: 0, info: 0 });
  const [of] = await incidents.ofRun(TEAM, run(1));
  assertEquals((await incidents.read(TEAM, of ?? ""))?.group, { agent: "a" });
  assertEquals(await incidents.read(TEAM, "inc_eu_0"), null);
});

Deno.test("an incident is acknowledged and resolved by hand once, with audit entries", async () => {
  await using temp = await TempStore.open();
  const here = new AlertProcess(temp.store);
  const incidents = storeOf(here);
  await here.putMail("ops");
  await openFor(here, ["a"]);
  const { incidents: [first] } = await incidents.list(TEAM, ALL);
  const id = first?.id ?? "";
  const made = { by: "key_1", at: NOON + 50 };
  const known = await incidents.acknowledge(TEAM, id, "on it", made);
  assertEquals([known?.state, known?.acknowledged], ["acknowledged", { ...made, note: "on it" }]);
  await incidents.acknowledge(TEAM, id, "again", { ...made, at: NOON + 51 });
  const ended = await incidents.resolve(TEAM, id, null, made);
  assertEquals([ended?.state, ended?.resolvedBy], ["resolved", "hand"]);
  await incidents.resolve(TEAM, id, null, { ...made, at: NOON + 52 });
  const log = await here.values(["audit_log", TEAM.id]) as { readonly action: string }[];
  assertEquals(log.map(({ action }) => action).sort(), [
    "incident.acknowledged",
    "incident.resolved",
  ]);
  const sent = (await here.deliveries()).toSorted();
  assertEquals(sent, ["ops incident.opened", "ops incident.resolved"]);
  // The condition is still true: its next signal opens another one.
  await here.close(2, "failed", NOON + 60);
  await here.work();
  assertEquals(await here.open(), ["failures =a 1: 2"]);
  await here.close(3, "success", NOON + 70);
  await here.work();
  assertEquals([await here.open(), await here.instances()], [[], []]);
  assertEquals(await incidents.acknowledge(TEAM, "inc_eu_0", null, made), null);
});

Deno.test("groups beyond 1,000 that fire share an incident, which ends when it is quiet", async () => {
  await using temp = await TempStore.open();
  const here = new AlertProcess(temp.store);
  await openFor(here, ["a"]);
  const state = { failures: { instances: 1_000, firing: 1_000, overflow: null } };
  await here.updater.changeInTurn(TEAM.id, "call", () =>
    Promise.resolve({
      result: null,
      rows: { sets: [{ key: keys.alertState(TEAM.id), value: state }], deletes: [] },
    }));
  for (const [i, agent] of ["b", "c"].entries()) {
    await here.close(i + 2, "failed", NOON + i + 2, { agent });
    await here.work();
  }
  assertEquals(await here.open(), ["failures (other) 2: 3,2", "failures =a 1: 1"]);
  assertEquals(
    await readOverflows(here.store, TEAM.id),
    new Map([
      ["failures", { since: NOON, groups: 2 }],
    ]),
  );
  here.nowMs = NOON + 86_400_004;
  await here.look();
  assertEquals(await here.open(), ["failures =a 1: 1"]);
  assertEquals((await readOverflows(here.store, TEAM.id)).size, 0);
});

Deno.test("a monitor that goes down opens an incident, which its deletion or success ends", async () => {
  await using temp = await TempStore.open();
  const here = new AlertProcess(temp.store);
  const monitors = createMonitorStore({
    store: here.store,
    changes: here.updater,
    region: "eu",
    environment: { random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)) },
  });
  await here.putRule("failures", { enabled: false });
  await here.close(1, "success");
  await here.work();
  const made = { by: "key_1", at: NOON + 2 };
  await monitors.put(TEAM, "a", HOURLY, null, made);
  await here.closeAll("b", 3);
  assertEquals(await here.open(), ["missed =a 1: 3"]);
  assertEquals((await here.incidents())[0]?.title, "a is down: its runs failed");
  await here.closeAll("g", 4);
  assertEquals(await here.open(), []);
  await here.closeAll("b", 5);
  await monitors.remove(TEAM, "a", { ...made, at: NOON + 9 });
  const by = (await here.incidents()).map(({ resolvedBy }) => resolvedBy);
  assertEquals(by, ["condition", "paused"]);
});
