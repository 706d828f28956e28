/** Rows of monitors over time: after a crash, a deletion of data, a sweep, and damage. */
import { assert, assertEquals } from "@std/assert";
import { uptimeOf } from "../../../domain/monitors/flips.ts";
import { type Monitor, runOutcome } from "../../../domain/monitors/monitor.ts";
import { monitorRow } from "../../../kv/agents/agents.ts";
import { keys } from "../../../kv/base/keys.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { rowsOfChanges } from "../../../kv/monitors/rows.ts";
import type { Store } from "../../../kv/store.ts";
import { storedRows, teamSet } from "../../../kv/team/team_rows.ts";
import type { KvSet, Write } from "../../../kv/writer/group.ts";
import { NOON } from "../../support/harness/harness.ts";
import { HOUR, HOURLY, MINUTE, MonitorProcess } from "../../support/harness/monitor_process.ts";
import { RetentionHarness } from "../../support/harness/retention_harness.ts";
import { run, TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { replaced } from "../../support/fakes/replaced.ts";

const DAY = 24 * HOUR;

/** Returns the row of a monitor. */
function monitorSet(monitor: Monitor): KvSet {
  const [row] = storedRows([teamSet(monitorRow(TEAM.id, monitor.agent), monitor)]).sets;
  assert(row !== undefined);
  return row;
}

/** Returns a store whose next commit of a monitor fails: the process is killed there. */
function killedAt(store: Store, when: "before" | "after"): Store {
  const isMonitor = ({ sets = [] }: Write) => sets.some(({ key }) => key[0] === "monitor");
  const writer = replaced(store.writer, {
    commit: async (write: Write) => {
      if (isMonitor(write) && when === "before") throw new Error("killed");
      const version = await store.writer.commit(write);
      if (isMonitor(write)) throw new Error("killed");
      return version;
    },
  });
  return { ...store, writer };
}

Deno.test("monitor rows: a process killed before or after the commit of a flip leaves one flip", async () => {
  for (const when of ["before", "after"] as const) {
    await using temp = await TempStore.open();
    const here = new MonitorProcess(temp.store);
    await here.close(1, NOON);
    await here.work();
    await here.put();
    const rows = await here.due();
    const killed = new MonitorProcess(killedAt(temp.store, when));
    await killed.evaluate(rows, NOON + 2 * HOUR).then(() => assert(false), () => {});
    // The next process looks at what is due, and at the rows of the killed one.
    const next = new MonitorProcess(temp.store);
    await next.evaluateDue(NOON + 3 * HOUR);
    await next.evaluate(rows, NOON + 3 * HOUR);
    assertEquals(await next.flips(), [
      "0 none>up created",
      "60 up>late expected",
      "70 late>down missed",
    ]);
    assertEquals(await next.due(), []);
  }
});

Deno.test("monitor rows: a process killed around the commit of outcomes counts each once", async () => {
  for (const when of ["before", "after"] as const) {
    await using temp = await TempStore.open();
    const here = new MonitorProcess(temp.store);
    await here.close(1, NOON);
    await here.work();
    await here.put({ ...HOURLY, failureThreshold: 3 });
    await here.close(2, NOON + 1 * MINUTE, "failed");
    await here.close(3, NOON + 2 * MINUTE, "failed");
    const killed = new MonitorProcess(killedAt(temp.store, when));
    await killed.work().then(() => assert(false), () => {});
    const next = new MonitorProcess(temp.store);
    await next.work();
    assertEquals((await next.read())?.outcomes.kept.map(({ run }) => run), [run(2), run(3)]);
    assertEquals((await next.read())?.state, "up");
    await next.close(4, NOON + 3 * MINUTE, "failed");
    await next.work();
    assertEquals(await next.flips(), ["0 none>up created", "3 up>down failed"]);
  }
});

MonitorProcess.test("monitor rows: a postponed row and the monitor's own are one look", async (here) => {
  await here.close(1, NOON);
  await here.work();
  await here.put();
  // The clock moves a row whose look failed.
  const [row] = await here.due();
  assert(row !== undefined);
  const moved = { ...row, at: row.at + MINUTE };
  await here.store.writer.commit({
    deletes: [keys.workRow(row.at, "monitor", TEAM.id, "a")],
    sets: [{ key: keys.workRow(moved.at, "monitor", TEAM.id, "a"), value: 1 }],
  });
  assertEquals((await verifyStore(here.store)).differences, []);
  await here.evaluateDue(moved.at);
  assertEquals(await here.due(), [{ ...row, at: NOON + HOUR + 10 * MINUTE, failures: 0 }]);
});

MonitorProcess.test("monitor rows: monitors with the longest names are looked at in commits that fit", async (here) => {
  await here.close(1, NOON);
  await here.work();
  const { record: { monitor } } = await here.put();
  const { dueAt } = monitor;
  assert(dueAt !== null);
  const kept = Array.from({ length: 32 }, (_, n) => runOutcome("good", run(n), NOON + n + 1));
  const outcomes = { ...monitor.outcomes, kept };
  const names = Array.from({ length: 80 }, (_, n) => `${n}`.padStart(128, "\u4e00"));
  for (const agent of names) {
    await here.store.writer.commit({
      sets: [
        monitorSet({ ...monitor, agent, outcomes }),
        { key: keys.workRow(dueAt, "monitor", TEAM.id, agent), value: 0 },
      ],
    });
  }
  await here.evaluateDue(NOON + 2 * HOUR);
  for (const agent of names) assertEquals((await here.read(agent))?.state, "down");
  assertEquals(await here.due(), []);
});

RetentionHarness.test("monitor rows: a deleted customer leaves no trace in them", async (archive) => {
  const team = await archive.addTeam("business");
  const here = new MonitorProcess(archive.store);
  const open = (n: number, customerId: string) =>
    here.runs.open(team, { id: run(n), agent: "a", customerId, startedAt: NOON }, NOON);
  await open(1, "acme-secret");
  await here.work();
  await here.put({ ...HOURLY, maxRuntimeSeconds: 60 }, NOON, "a", team);
  await here.runs.finish(team, run(1), { status: "failed", finishedAt: NOON + 1 }, NOON + 1);
  await open(2, "acme-secret");
  await here.work();
  await here.evaluateDue(NOON + HOUR);
  await archive.deletions.deleteCustomer(team, "acme-secret", "key");
  await archive.deleteAll();
  const texts: string[] = [];
  for await (const { key, value } of archive.store.reader.list({ prefix: [] })) {
    const text = `${key.join(" ")} ${Deno.inspect(value, { depth: 9 })}`;
    if (text.includes("acme-secret")) texts.push(text);
  }
  assertEquals(texts.filter((text) => !text.startsWith("deletion ")), []);
  assertEquals((await verifyStore(archive.store)).differences, []);
});

RetentionHarness.test("monitor rows: the sweep removes flips after 400 days", async (archive) => {
  const team = await archive.addTeam("business");
  const here = new MonitorProcess(archive.store);
  await here.runs.open(team, { id: run(1), agent: "a", startedAt: NOON }, NOON);
  await here.work();
  await here.put(HOURLY, NOON, "a", team);
  const made = (at: number) => ({ by: "key_1", at });
  await here.monitors.pause(team, "a", { untilMs: null, isSticky: true }, made(NOON + DAY));
  await here.monitors.resume(team, "a", made(NOON + 2 * DAY));
  const instants = async () =>
    (await archive.keysBelow(["flip"])).map((key) => Number(key[3]) - NOON);
  archive.nowMs = NOON + 401 * DAY;
  await archive.sweep();
  assertEquals(await instants(), [DAY, 2 * DAY]);
  archive.nowMs = NOON + 500 * DAY;
  await archive.sweep();
  assertEquals(await instants(), []);
});

TempStore.test("monitor rows: the integrity check finds damage", async (temp, t) => {
  const here = new MonitorProcess(temp.store);
  await here.close(1, NOON);
  await here.work();
  await here.put();
  const team = TEAM.id;
  const monitor = await here.read();
  const [due] = await here.due();
  assert(monitor !== null && due !== undefined);
  assertEquals((await verifyStore(temp.store)).differences, []);
  const damaged: KvSet = { key: keys.monitor(team, "a"), value: '{"agent":"a"' };
  const damages: readonly (readonly [string, KvSet])[] = [
    ["due row of monitor of agent a", {
      key: keys.workRow(due.at, "monitor", team, "a"),
      value: undefined,
    }],
    ["monitor of agent gone", monitorSet({ ...monitor, agent: "gone", dueAt: null })],
    ["monitor of agent a", monitorSet({ ...monitor, state: "lost" as "up" })],
    ["monitor of agent a", damaged],
    ["flips of agent b", { key: keys.flip(team, "b", NOON), value: [] }],
  ];
  for (const [says, { key, value }] of damages) {
    await t.step(says, async () => {
      const before = await temp.store.reader.get(key);
      const write = (value: unknown) =>
        temp.store.writer.commit(
          value === undefined || value === null ? { deletes: [key] } : { sets: [{ key, value }] },
        );
      await write(value);
      const { differences } = await verifyStore(temp.store);
      assertEquals(differences.map(({ what }) => what), [says]);
      await write(before.value);
    });
  }
  assertEquals((await verifyStore(temp.store)).differences, []);
});

MonitorProcess.test("monitor rows: neither an open run nor the end of a pause resumes an archived agent", async (here) => {
  const change = (archived: boolean, at: number) =>
    here.agents.change(TEAM, "a", { archived, name: undefined, notes: undefined }, {
      by: "key_1",
      at,
    });
  await here.close(1, NOON);
  await here.runs.open(TEAM, { id: run(2), agent: "a", startedAt: NOON }, NOON);
  await here.work();
  await here.put();
  const pause = { untilMs: NOON + 3 * MINUTE, isSticky: false };
  await here.monitors.pause(TEAM, "a", pause, { by: "key_1", at: NOON + MINUTE });
  await change(true, NOON + 2 * MINUTE);
  const at = NOON + 4 * MINUTE;
  await here.runs.finish(TEAM, run(2), { status: "success", finishedAt: at }, at);
  await here.work();
  await here.evaluateDue(NOON + 2 * HOUR);
  await change(false, NOON + 3 * HOUR);
  assertEquals(await here.flips(), [
    "0 none>up created",
    "1 up>paused paused",
    "180 paused>up resumed",
  ]);
});

MonitorProcess.test("monitor rows: an outcome behind many open runs is one in the past", async (here) => {
  await here.close(0, NOON);
  for (let n = 1; n < 60; n++) {
    await here.runs.open(TEAM, { id: run(n), agent: "a", startedAt: NOON + n }, NOON + n);
  }
  await here.work();
  await here.put(HOURLY, NOON + MINUTE);
  const { state, lastArrivalAt, expectedAt } = await here.read() ?? {};
  assertEquals([state, lastArrivalAt, expectedAt], ["up", NOON, NOON + MINUTE + HOUR]);
});

MonitorProcess.test("monitor rows: a monitor that is created while its agent is archived is paused", async (here) => {
  await here.close(1, NOON);
  await here.work();
  let isArchived = false;
  const writer = replaced(here.store.writer, {
    commit: async (write: Write) => {
      if (!isArchived) {
        isArchived = true;
        const patch = { archived: true, name: undefined, notes: undefined };
        await here.agents.change(TEAM, "a", patch, { by: "key_1", at: NOON });
      }
      return await here.store.writer.commit(write);
    },
  });
  await new MonitorProcess({ ...here.store, writer }).put();
  assertEquals([(await here.read())?.state, await here.due()], ["paused", []]);
});

MonitorProcess.test("monitor rows: flips of one instant always fit a row", async (here) => {
  await here.close(1, NOON);
  await here.work();
  const { record: { monitor } } = await here.put();
  const flap = (n: number) =>
    ({ at: NOON, from: "up", to: "down", reason: "failed", run: run(n) }) as const;
  const flips = Array.from({ length: 900 }, (_, n) => flap(n));
  const change = { before: monitor, monitor, flips };
  const rows = await rowsOfChanges(here.store, TEAM.id, [change]);
  await here.store.writer.commit({ team: TEAM.id, sets: rows.sets, deletes: rows.deletes });
  const kept = await here.monitors.flips(TEAM, "a", {
    ...{ fromMs: 0, toMs: Infinity },
    ...{ limit: 1, after: null },
  });
  assertEquals(
    kept.flips.map((flip) => flip.run),
    flips.slice(-200).map((flip) => flip.run).reverse(),
  );
});

MonitorProcess.test("monitor rows: an absence that began before an uptime is no part of it", async (here) => {
  await here.close(1, NOON);
  await here.work();
  await here.put();
  const absence = { fromMs: NOON + MINUTE, untilMs: NOON + 90 * DAY };
  await here.evaluateDue(absence.untilMs, [absence]);
  const fromMs = absence.untilMs - 30 * DAY;
  const flips = (await here.monitors.flipsOf(TEAM, ["a"], fromMs, 9)).get("a") ?? [];
  assertEquals(flips.map(({ to }) => to), ["unknown"]);
  assertEquals(uptimeOf(flips, "up", fromMs, absence.untilMs), null);
});
