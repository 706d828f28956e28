/** Runs of monitored agents that last too long. */
import { assertEquals } from "@std/assert";
import { run, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { HOUR, HOURLY, MINUTE, MonitorProcess } from "../../support/harness/monitor_process.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

/** Runs may last 10 minutes. */
const LIMITED = { ...HOURLY, maxRuntimeSeconds: 600 };

/** Opens a run that started at a time, and arrives later. */
async function open(
  process: MonitorProcess,
  n: number,
  startedAt: number,
  lateMs = 0,
  agent = "a",
) {
  await process.runs.open(TEAM, { id: run(n), agent, startedAt }, startedAt + lateMs);
  await process.work();
}

async function overruns(process: MonitorProcess) {
  const outcomes = (await process.read())?.outcomes.kept ?? [];
  return outcomes.filter(({ kind }) => kind === "overrun")
    .map(({ run, at }) => [run, (at - NOON) / MINUTE]);
}

async function monitored(temp: TempStore): Promise<MonitorProcess> {
  const process = new MonitorProcess(temp.store);
  await process.close(1, NOON);
  await process.work();
  await process.put(LIMITED);
  return process;
}

TempStore.test("overruns: each open run counts once, at its opening plus the limit", async (temp) => {
  const here = await monitored(temp);
  await open(here, 2, NOON + 1 * MINUTE);
  assertEquals(
    (await here.due()).map(({ at }) => at),
    [NOON + 2 * MINUTE],
    "looked at each minute",
  );
  await open(here, 3, NOON + 2 * MINUTE);
  await open(here, 4, NOON + 3 * MINUTE, 0, "b");
  for (let minute = 2; minute < 20; minute++) await here.evaluateDue(NOON + minute * MINUTE);
  assertEquals(await overruns(here), [[run(2), 11], [run(3), 12]]);
  assertEquals(await here.flips(), ["0 none>up created", "11 up>down overrun"]);
});

TempStore.test("overruns: a run that ends in time, or whose opening arrived late, has its own time", async (temp) => {
  const here = await monitored(temp);
  await open(here, 2, NOON + 1 * MINUTE);
  await here.runs.finish(
    TEAM,
    run(2),
    { status: "success", finishedAt: NOON + 9 * MINUTE },
    NOON + 9 * MINUTE,
  );
  await open(here, 3, NOON + 2 * MINUTE);
  await here.evaluateDue(NOON + 13 * MINUTE);
  await here.evaluateDue(NOON + 14 * MINUTE);
  // It started before a run that is counted already.
  await open(here, 4, NOON + 1 * MINUTE, 14 * MINUTE);
  await here.evaluateDue(NOON + 20 * MINUTE);
  assertEquals(await overruns(here), [[run(3), 12]]);
  await here.evaluateDue(NOON + 30 * MINUTE);
  assertEquals(await overruns(here), [[run(3), 12], [run(4), 25]]);
});

TempStore.test("overruns: open runs of other agents do not hide one", async (temp) => {
  const here = await monitored(temp);
  for (let n = 10; n < 60; n++) {
    await here.runs.open(TEAM, { id: run(n), agent: "b", startedAt: NOON + n }, NOON + n);
  }
  for (let n = 60; n < 90; n++) await here.close(n, NOON + n);
  await here.work();
  await open(here, 2, NOON + 1 * MINUTE);
  await here.evaluateDue(NOON + HOUR - MINUTE);
  assertEquals(await overruns(here), [[run(2), 11]]);
});

TempStore.test("overruns: a run that was opened late does not hide one that started after it", async (temp) => {
  const here = await monitored(temp);
  await open(here, 2, NOON + 2 * MINUTE);
  await open(here, 3, NOON + 1 * MINUTE, 8 * MINUTE);
  for (let minute = 9; minute < 16; minute++) await here.evaluateDue(NOON + minute * MINUTE);
  assertEquals(await overruns(here), [[run(2), 12]]);
  for (let minute = 16; minute < 25; minute++) await here.evaluateDue(NOON + minute * MINUTE);
  assertEquals(await overruns(here), [[run(2), 12], [run(3), 19]]);
  assertEquals(await here.flips(), ["0 none>up created", "12 up>down overrun"]);
});
