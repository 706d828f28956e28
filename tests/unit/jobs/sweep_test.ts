/** The nightly sweep: its schedule, that each night is swept once, and that other work has its turns. */
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { addCounts } from "../../../domain/core/sums.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import {
  EMPTY_SWEEP,
  SWEEP_SILENCE_MS,
  type SweepReport,
} from "../../../domain/retention/retention.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { SweepWork } from "../../../kv/retention/sweep_work.ts";
import { createWorkStore } from "../../../kv/work/store.ts";
import { NightlySweep, stepping } from "../../support/harness/nightly_sweep.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { DAY_MS, HOUR_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { FakeSweeps } from "../../support/fakes/fake_sweeps.ts";
import { NOON } from "../../support/harness/harness.ts";
import { OLD_SWEPT, OldLedger, openOldLedger } from "../../support/builders/old_ledger.ts";
import { run } from "../../support/builders/stored_runs.ts";
import { strayRows } from "../../support/oracles/stray_rows.ts";
import { Gate } from "../../support/harness/worker_harness.ts";

const NIGHT = "2026-11-21";

/** Reports that were logged, in order. */
function loggedReports({ log }: RetentionHarness): SweepReport[] {
  return log.map((line) => JSON.parse(line).sweep);
}

OldLedger.test("sweep job: a night is swept once, with its progress and its report", async ({ retention }) => {
  // Each step takes four seconds.
  const job = retention.job(stepping(retention.sweeps, () => {
    retention.nowMs += 4_000;
    retention.processMs += 4_000;
  }));
  const report = await job.sweepIfDue();
  assert(report !== null);
  const { night, startedAt, finishedAt, teams, counts } = report;
  assertEquals({ night, startedAt, teams, counts }, {
    night: NIGHT,
    startedAt: NOON,
    teams: 1,
    counts: OLD_SWEPT,
  });
  assertEquals(finishedAt, retention.nowMs);
  assertEquals(await retention.sweeps.reports(9), [report]);
  const words = loggedReports(retention);
  assert(words.length > 2, `only ${words.length} words`);
  assertEquals(words.at(-1), report);
  for (const [i, word] of words.entries()) {
    const before = words[i - 1] ?? { toldAt: NOON, counts: EMPTY_SWEEP };
    assert(word.finishedAt !== null || word.toldAt - before.toldAt >= 10_000);
    assert(word.counts.events >= before.counts.events);
  }
  retention.nowMs = NOON + 13 * HOUR_MS;
  assertEquals(await job.sweepIfDue(), null);
  retention.nowMs = NOON + 14 * HOUR_MS;
  assertEquals(await job.sweepIfDue(), null, "only 14 hours after the one before");
  retention.processMs += 20 * HOUR_MS;
  assertEquals((await job.sweepIfDue())?.night, "2026-11-22");
  assertEquals((await retention.sweeps.reports(9)).map((each) => each.night), [
    "2026-11-22",
    NIGHT,
  ]);
});

OldLedger.test("sweep job: a sweep logs what it removed, and nothing if it removed nothing", async ({ retention }) => {
  assert(await retention.job(undefined, true).sweepIfDue() !== null);
  assertEquals(loggedReports(retention).at(-1)?.counts, OLD_SWEPT);
  const before = retention.log.length;
  for (const quiet of [true, false]) {
    retention.nowMs += DAY_MS;
    retention.processMs += DAY_MS;
    const report = await retention.job(undefined, quiet).sweepIfDue();
    assertEquals(report?.counts, EMPTY_SWEEP);
    assertEquals(retention.log.length - before, quiet ? 0 : 1);
  }
});

OldLedger.test("sweep job: of several processes that start together one sweeps", async (ledger) => {
  await using other = await openOldLedger(ledger.temp.path);
  const all = [ledger.retention, new RetentionHarness(ledger.temp.store), other.archive];
  const reports = await Promise.all(all.map((each) => each.job().sweepIfDue()));
  assertEquals(reports.flatMap((report) => report?.counts ?? []), [OLD_SWEPT]);
});

OldLedger.test("sweep job: a silent process is taken over, and counts nothing when it resumes", async (ledger) => {
  const { retention: silent, temp } = ledger;
  const second = new RetentionHarness(temp.store);
  const gate = new Gate();
  let steps = 0;
  const stuck = stepping(silent.sweeps, () => ++steps === 3 ? gate.pass() : null);
  const asleep = silent.job(stuck).sweepIfDue();
  await gate.reached();
  second.nowMs = NOON + SWEEP_SILENCE_MS;
  assertEquals(await second.job().sweepIfDue(), null);
  second.nowMs++;
  const report = await second.job().sweepIfDue();
  assert(report?.finishedAt === second.nowMs);
  // It reports no progress for ten seconds: its work is missing from the counts, but nothing is
  // counted twice.
  assert(report.counts.events <= OLD_SWEPT.events);
  silent.nowMs = second.nowMs;
  gate.open();
  assertEquals(await asleep, null);
  assertEquals(await second.sweeps.reports(9), [report]);
  assertEquals(await second.sweep(), EMPTY_SWEEP);
  assertEquals(await strayRows(temp.store), []);
});

OldLedger.test("sweep job: a look ends after some steps, and the next process does the remaining work", async ({ retention, temp }) => {
  let steps = 0;
  const job = retention.job(stepping(retention.sweeps, () => {
    steps++;
    retention.processMs += 40;
  }));
  assert(await job.runTurn());
  const inOneTurn = steps;
  assert(await job.runTurn());
  // The expired sessions, and steps of 40 ms in looks of 100.
  assertEquals([inOneTurn, steps], [3, 6]);
  const [broken] = await retention.sweeps.reports(1);
  assert(broken !== undefined && broken.finishedAt === null);
  assert(broken.counts.released > 0, "its work is not reported");
  const next = new RetentionHarness(temp.store);
  next.nowMs = NOON + SWEEP_SILENCE_MS + 1;
  assertEquals((await next.job().sweepIfDue())?.counts, OLD_SWEPT);
  assertEquals(await job.runTurn(), false, "it goes on with a night of another process");
});

OldLedger.test("sweep job: the work queue finishes an interrupted delete", async ({ retention, team, temp }) => {
  let commits = 0;
  await using killed = await openOldLedger(temp.path, () => ++commits === 2 ? "throw" : "none");
  await killed.archive.deletions.deleteRun(team, run(14), "key").catch(() => null);
  assert((await strayRows(temp.store)).length > 300);
  await retention.purgeAll();
  assertEquals(await strayRows(temp.store), []);
  const rows = await temp.keysBelow(keys.work("back"));
  assertEquals(rows.filter((key) => keyParts.work(key).kind === "purge"), []);
});

Deno.test("sweep job: processes that live five seconds each complete a night, one after the other", async () => {
  let nowMs = NOON;
  // A step takes half a second, and the process is killed in its eleventh.
  let stepsLeft = 0;
  const store = new FakeSweeps(1, () => {
    if (stepsLeft-- === 0) throw new StorageUnavailable("killed");
    nowMs += 500;
  });
  store.ids = Array.from({ length: 20 }, (_, n) => `team ${n}` as TeamId);
  const jobOf = () =>
    new NightlySweep(store, { now: () => nowMs, processMs: () => nowMs, log: () => {} });
  let report: SweepReport | null = null;
  for (let life = 0; life < 2 * store.ids.length && report === null; life++) {
    stepsLeft = 10;
    nowMs += SWEEP_SILENCE_MS + 1;
    report = await jobOf().sweepIfDue().catch((error) => {
      assert(error instanceof StorageUnavailable, error);
      return null;
    });
  }
  assertEquals(report?.teams, store.ids.length);
  // A manual sweep of the same night begins at the first team.
  stepsLeft = Infinity;
  assertEquals((await jobOf().sweepNow())?.teams, store.ids.length);
});

Deno.test("sweep job: it starts with the current night, then runs at exactly 02:00 UTC, night by night", async () => {
  let nowMs = Date.UTC(2028, 1, 29, 1, 30);
  const store = new FakeSweeps(1);
  store.clockMs = nowMs - DAY_MS;
  // The pause has always passed: this test is about the nights.
  const job = new NightlySweep(store, {
    now: () => nowMs,
    processMs: () => 60 * nowMs,
    log: () => {},
  });
  while (store.known.size < 3) {
    if (job.isDue) await job.sweepIfDue();
    nowMs += 1_000;
  }
  assertEquals((await store.reports()).map(({ night, startedAt }) => [night, startedAt]), [
    ["2028-02-28", Date.UTC(2028, 1, 29, 1, 30)],
    ["2028-02-29", Date.UTC(2028, 1, 29, 2)],
    ["2028-03-01", Date.UTC(2028, 2, 1, 2)],
  ]);
});

TempStore.test("sweep job: the loop of the work queue sweeps without a row, also after failures of the store", async (temp) => {
  let nowMs = NOON;
  const store = new FakeSweeps(1);
  store.failures = 1;
  const log: string[] = [];
  const deps = { now: () => nowMs, log: (line: string) => void log.push(line) };
  const report = { night: NIGHT, clockAt: NOON, startedAt: NOON, toldAt: NOON, finishedAt: null };
  const counts = { ...EMPTY_SWEEP, records: 5 };
  await store.saveReport(null, { ...report, teams: 1, counts });
  const sweep = new SweepWork({ ...deps, store, processMs: () => nowMs });
  const loop = new WorkLoop({
    ...deps,
    store: createWorkStore(temp.store, Infinity),
    handlers: [sweep],
  });
  await loop.round(["back"]);
  assertEquals([store.failures, log.length], [1, 0], "it began by itself");
  sweep.start();
  for (let minute = 0; minute <= 2; minute++, nowMs += 60_000) await loop.round(["back"]);
  const [finished] = await store.reports();
  assertEquals(finished?.counts, addCounts(counts, { ...EMPTY_SWEEP, payloads: 8 }));
  assertEquals([finished?.finishedAt, await temp.keysBelow(["work"])], [NOON + 60_000, []]);
  assertStringIncludes(log.join(), "Work of kind sweep was postponed");
});

OldLedger.test("sweep job: the reports of the last 60 nights are kept", async (ledger) => {
  const { retention } = ledger;
  for (let night = 0; night < 63; night++, retention.nowMs += DAY_MS) {
    await retention.job().sweepIfDue();
  }
  const nights = (await retention.sweeps.reports(100)).map(({ night }) => night);
  assertEquals([nights.length, nights[0]], [60, "2027-01-22"]);
  await retention.purgeAll();
  assertEquals(await strayRows(ledger.temp.store), []);
});
