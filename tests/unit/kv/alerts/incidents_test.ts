/** Incidents: lists, counts, changes by hand, groups beyond the limit, monitors. */
import { assertEquals } from "@std/assert";
import { readOverflows } from "../../../../kv/alerts/rows.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";

const ONE_FAILURE = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;

/** Opens incidents of agents, one after the other. */
async function openFor(here: AlertProcess, agents: readonly string[]): Promise<void> {
  await here.putRule("failures", { condition: ONE_FAILURE });
  for (const [i, agent] of agents.entries()) {
    await here.close(i + 1, "failed", NOON + i + 1, { agent });
    await here.work();
  }
}

AlertProcess.test("groups beyond 1,000 that fire share an incident, which ends when it is quiet", async (here) => {
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
