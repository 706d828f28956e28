/** A success that does not count any more: bad outcomes before it count again, unless a user resolved them. */
import { assertEquals } from "@std/assert";
import { newSignal, TEAM as OF_TEAM } from "../../../../domain/alerts/signal.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";

const ONE_FAILURE = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;

/** Withdraws the success of run number `n`. */
async function undo(here: AlertProcess, n: number): Promise<void> {
  const at = NOON + n;
  const subject = { ...OF_TEAM, agent: "a" };
  const signal = newSignal({ kind: "run_failed", key: run(n), at, outcome: "none", subject });
  await here.change({ signals: [{ ...signal, run: run(n), undoneAt: at }] });
}

/** Resolves the only open incident by hand. */
async function resolve(here: AlertProcess): Promise<void> {
  const [open] = (await here.incidents()).filter(({ state }) => state === "open");
  const made = { at: here.nowMs, by: "key_1" };
  const byHand = { id: open?.id ?? "", what: "resolved", note: null, made } as const;
  await here.change({ signals: [], byHand });
}

AlertProcess.test("an undone success opens the incident of the failures before it again", async (here) => {
  await here.putRule("failures", { condition: ONE_FAILURE });
  await here.closeAll("bg");
  assertEquals(await here.states(), ["failures =a 1 condition"]);
  await undo(here, 2);
  assertEquals(await here.states(), ["failures =a 1 condition", "failures =a 1 open"]);
});

AlertProcess.test("failures that a user resolved open nothing when a later success is undone", async (here) => {
  await here.putRule("failures", { condition: ONE_FAILURE });
  await here.closeAll("b");
  await resolve(here);
  await here.closeAll("g", 2);
  await undo(here, 2);
  assertEquals(await here.states(), ["failures =a 1 hand"]);
  await here.closeAll("b", 3);
  assertEquals(await here.states(), ["failures =a 1 hand", "failures =a 1 open"]);
});

AlertProcess.test("a group that an undone success makes fire beyond the limit shares the incident of others", async (here) => {
  await here.putRule("failures", { condition: ONE_FAILURE });
  await here.closeAll("bg");
  const state = { failures: { instances: 1_000, firing: 1_000, overflow: null } };
  await here.updater.commitPlan(TEAM.id, "call", () =>
    Promise.resolve({
      result: null,
      rows: { sets: [{ key: keys.alertState(TEAM.id), value: state }], deletes: [] },
    }));
  await undo(here, 2);
  assertEquals(await here.states(), ["failures =a 1 condition", "failures (other) 1 open"]);
});
