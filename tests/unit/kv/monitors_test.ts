/** Monitors in the store: changes by users, outcomes of runs, and looks at their deadlines. */
import { assertEquals } from "@std/assert";
import { run, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { HOUR, HOURLY, MINUTE, MonitorProcess } from "../../support/harness/monitor_process.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const MADE = { by: "key_1", at: NOON };

MonitorProcess.test("monitors: outcomes of one commit are one row, and move no row of the due index", async (here) => {
  await here.close(1, NOON);
  await here.work();
  await here.put();
  const before = await here.due();
  for (let n = 2; n < 8; n++) await here.close(n, NOON + n * MINUTE);
  await here.work();
  const monitor = await here.read();
  assertEquals(monitor?.lastArrivalAt, NOON + 7 * MINUTE);
  assertEquals(await here.due(), before);
  await here.evaluateDue(NOON + HOUR);
  assertEquals((await here.due()).map(({ at }) => at), [NOON + HOUR + 7 * MINUTE]);
  assertEquals(await here.flips(), ["0 none>up created"]);
});

TempStore.test("monitors: no outcome is lost between changes by several processes", async (temp) => {
  const [here, there] = [new MonitorProcess(temp.store), new MonitorProcess(temp.store)];
  await here.close(1, NOON);
  await here.work();
  await here.put();
  for (let n = 2; n < 22; n++) {
    await here.close(n, NOON + n * MINUTE);
    await Promise.all([
      here.work(),
      there.put({ ...HOURLY, graceSeconds: 60 * n }, NOON + n * MINUTE),
      here.evaluateDue(NOON + n * MINUTE),
      there.evaluateDue(NOON + n * MINUTE),
    ]);
  }
  const monitor = await there.read();
  assertEquals([monitor?.lastArrivalAt, monitor?.version], [NOON + 21 * MINUTE, 21]);
  assertEquals(monitor?.outcomes.kept.length, 20);
  assertEquals(new Set(monitor?.outcomes.kept.map(({ run }) => run)).size, 20);
});

MonitorProcess.test("monitors: a deleted run changes nothing", async (here) => {
  await here.close(1, NOON);
  await here.work();
  await here.put();
  await here.close(2, NOON + MINUTE);
  await here.work();
  const before = await here.read();
  await here.updater.change(TEAM.id, [run(2)], (run) => ({
    run,
    before: run.summary,
    after: null,
    rows: { sets: [], deletes: [] },
  }));
  assertEquals(await here.read(), before);
});

MonitorProcess.test("monitors: a deletion removes the monitor, its flips and its row of the due index", async (here) => {
  await here.close(1, NOON);
  await here.work();
  await here.put();
  const made = (at: number) => ({ by: "key_1", at });
  const count = 900;
  for (let n = 0; n < count; n += 2) {
    await here.monitors.pause(TEAM, "a", { untilMs: null, isSticky: false }, made(NOON + n + 1));
    await here.monitors.resume(TEAM, "a", made(NOON + n + 2));
  }
  assertEquals((await here.keysBelow(["flip"])).length, count + 1);
  const removed = await here.monitors.remove(TEAM, "a", made(NOON + HOUR));
  assertEquals(removed?.agent, "a");
  assertEquals(await here.monitors.remove(TEAM, "a", made(NOON + HOUR)), null);
  assertEquals([...await here.keysBelow(["flip"]), ...await here.keysBelow(["monitor"])], []);
  assertEquals(await here.due(), []);
  // The cached row is gone too.
  await here.close(2, NOON + MINUTE);
  await here.work();
  assertEquals(await here.read(), null);
});

TempStore.test("monitors: one is created for a ping where none is, and a repeat reads its row alone", async (temp) => {
  let reads = 0;
  const reader = new Proxy(temp.store.reader, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        reads++;
        return member.apply(target, args);
      };
    },
  });
  const here = new MonitorProcess({ ...temp.store, reader });
  await here.monitors.createMissing(TEAM, "a", HOURLY, MADE);
  assertEquals(await here.read(), null, "no such agent");
  await here.close(1, NOON);
  await here.monitors.createMissing(TEAM, "a", HOURLY, MADE);
  const created = await here.read();
  assertEquals(created?.settings, HOURLY);
  reads = 0;
  await here.monitors.createMissing(TEAM, "a", { ...HOURLY, graceSeconds: 60 }, MADE);
  assertEquals([reads, await here.read()], [1, created]);
  await here.monitors.remove(TEAM, "a", MADE);
  await here.monitors.createMissing(TEAM, "a", { ...HOURLY, graceSeconds: 60 }, MADE);
  assertEquals((await here.read())?.settings.graceSeconds, 60);
});

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
