/** A run that is closed because it is idle, and reopened before the worker has seen the close. */
import { assertEquals } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { readHead } from "../../../kv/runs/heads.ts";
import { KnownAgents } from "../../../kv/agents/known_agents.ts";
import { createIdleHandler } from "../../../kv/runs/idle_closes.ts";
import { aCall, run, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { MINUTE, MonitorProcess } from "../../support/harness/monitor_process.ts";

MonitorProcess.test("idle race: a run reopened before its close is summarized is closed again", async (here) => {
  const handler = createIdleHandler(here.store, new KnownAgents(here.store.memory, () => 0));
  const closeIdle = async (nowMs: number) =>
    await handler.handle(
      await here.due(nowMs),
      { nowMs, absences: [], summarizedToMs: nowMs },
      new AbortController().signal,
    );
  const read = () => readHead({ store: here.store, team: TEAM.id, id: run(1) });
  const opening = { id: run(1), agent: "a", startedAt: NOON, idleTimeoutSeconds: 60 };
  await here.runs.open(TEAM, opening, NOON);
  await here.work();
  await closeIdle(NOON + MINUTE);
  assertEquals((await read()).head.parts.closing?.closedBy, "idle");
  await here.runs.append(TEAM, run(1), [aCall(1)], NOON + MINUTE + 1);
  await here.work();
  assertEquals((await read()).summary?.seen.closing, false);
  assertEquals((await here.due()).map(({ at }) => at), [NOON + 2 * MINUTE + 1]);
  // A later batch files no further row.
  await here.runs.append(TEAM, run(1), [aCall(2)], NOON + MINUTE + 2);
  await here.work();
  assertEquals((await here.due()).length, 1);
  await closeIdle(NOON + 3 * MINUTE);
  await closeIdle(NOON + 3 * MINUTE);
  await here.work();
  assertEquals((await read()).summary?.seen.closedBy, "idle");
  assertEquals(await here.due(), []);
  assertEquals((await verifyStore(here.store, { pauseMs: 0 })).differences, []);
});
