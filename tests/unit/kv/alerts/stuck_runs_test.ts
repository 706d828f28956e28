/** Runs that are open for too long. */
import { assertEquals } from "@std/assert";
import { findStuckRuns } from "../../../../kv/alerts/find_stuck.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { HOUR, MINUTE, MonitorProcess } from "../../../support/harness/monitor_process.ts";

const DAY = 24 * HOUR;

function at(nowMs: number, absences: { fromMs: number; untilMs: number }[] = []) {
  return { nowMs, summarizedToMs: nowMs, absences };
}

MonitorProcess.test("stuck runs: by the arrival of the opening, postponed by an absence", async (here) => {
  const open = (n: number, startedAt: number, arrival = startedAt) =>
    here.runs.open(TEAM, { id: run(n), agent: "a", startedAt }, arrival);
  await open(1, NOON);
  // It started first, and arrived an hour later.
  await open(2, NOON - MINUTE, NOON + HOUR);
  await open(3, NOON + 2 * HOUR);
  await here.close(4, NOON);
  await here.work();
  const find = async (turn: ReturnType<typeof at>) => {
    const { stuck, next, nextAt } = await findStuckRuns(here.store, TEAM.id, 86_400, null, turn);
    const runs = stuck.map(({ run, at, seconds }) => [run, (at - NOON) / HOUR, seconds / 3_600]);
    return { runs, next, nextAt: nextAt === null ? null : (nextAt - NOON) / HOUR };
  };
  assertEquals(await find(at(NOON)), { runs: [], next: null, nextAt: 24 - 1 / 60 });
  assertEquals(await find(at(NOON + DAY)), { runs: [[run(1), 24, 24]], next: null, nextAt: 25 });
  assertEquals(await find(at(NOON + 2 * DAY)), {
    runs: [[run(2), 25, 24], [run(1), 24, 24], [run(3), 26, 24]],
    next: null,
    nextAt: null,
  });
  // From 23:30 to 25:30 nothing was judged: clients get 15 minutes more.
  const absence = { fromMs: NOON + DAY - HOUR / 2, untilMs: NOON + DAY + 1.5 * HOUR };
  const back = at(NOON + DAY + 1.5 * HOUR, [absence]);
  assertEquals(await find(back), { runs: [], next: null, nextAt: 25.75 });
  assertEquals((await find({ ...back, nowMs: NOON + DAY + 1.75 * HOUR })).runs, [
    [run(2), 25.75, 24.75],
    [run(1), 25.75, 25.75],
  ]);
});
