/** Sweep clock: a temporarily wrong machine clock removes almost nothing too early. */
import { assert, assertEquals } from "@std/assert";
import {
  EMPTY_SWEEP,
  SWEEP_CLOCK_STEP_MS,
  SWEEP_GAP_MS,
} from "../../../domain/retention/retention.ts";
import { DAY_MS, HOUR_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aRunNow, OLD_SWEPT, OldLedger, openOldLedger } from "../../support/builders/old_ledger.ts";
import { readRun, run } from "../../support/builders/stored_runs.ts";
import { stepping } from "../../support/harness/nightly_sweep.ts";

const MINUTE_MS = 60_000;

/** Offset of a wrong clock: enough to expire everything. */
const WRONG_MS = 45 * DAY_MS;

/** The stored sweep clock. */
async function clockOf({ sweeps }: RetentionHarness): Promise<number | undefined> {
  return (await sweeps.clock())?.atMs;
}

/** True if yesterday's runs are unchanged. */
async function assertYoung({ retention, team }: OldLedger): Promise<void> {
  for (let n = 20; n < 25; n++) {
    const page = await readRun(retention.runs, team, run(n), null, 9);
    assert(page !== null, `run ${n} is gone`);
    assertEquals(
      [page.parts.opening?.goal, page.events.length],
      ["g", 1],
      `the payload of run ${n}`,
    );
  }
}

OldLedger.test("sweep clock: a clock 45 days ahead at start removes data at most 36 hours too early", async (ledger) => {
  const { retention } = ledger;
  retention.nowMs = NOON + WRONG_MS;
  const job = retention.job();
  const report = await job.sweepIfDue();
  assertEquals(report?.clockAt, NOON - DAY_MS + SWEEP_CLOCK_STEP_MS);
  assertEquals(report?.counts, OLD_SWEPT);
  await assertYoung(ledger);
  // A minute later, and in another process, it has not moved.
  retention.nowMs += MINUTE_MS;
  retention.processMs += MINUTE_MS;
  assertEquals(await job.sweepIfDue(), null);
  // The clock is right again: nothing moves before enough time has passed.
  retention.nowMs = NOON + 2 * MINUTE_MS;
  assertEquals(await job.sweepIfDue(), null);
  assertEquals(await retention.job().sweepIfDue(), null);
  await assertYoung(ledger);
  retention.nowMs = NOON + DAY_MS;
  retention.processMs = SWEEP_GAP_MS - 1;
  assertEquals(await job.sweepIfDue(), null);
  retention.processMs += MINUTE_MS;
  const next = await job.sweepIfDue();
  assertEquals([next?.clockAt, next?.counts], [NOON + DAY_MS, EMPTY_SWEEP]);
  await assertYoung(ledger);
});

OldLedger.test("sweep clock: a clock that jumps ahead while the service runs has no effect before 20 hours of process time", async (ledger) => {
  const { retention } = ledger;
  const job = retention.job();
  assertEquals((await job.sweepIfDue())?.clockAt, NOON);
  for (const wrongDays of [1, 2, 45, 400]) {
    retention.nowMs = NOON + wrongDays * DAY_MS;
    retention.processMs += MINUTE_MS;
    assertEquals(await job.sweepIfDue(), null, `${wrongDays} days ahead`);
  }
  assertEquals(await clockOf(retention), NOON);
  await assertYoung(ledger);
  // The clock stays wrong: the sweep clock moves 36 hours every 20 hours.
  for (let step = 1; step <= 3; step++) {
    retention.processMs += SWEEP_GAP_MS;
    retention.nowMs += DAY_MS;
    const report = await job.sweepIfDue();
    assertEquals(report?.clockAt, NOON + step * SWEEP_CLOCK_STEP_MS);
    assertEquals(await job.sweepIfDue(), null);
  }
});

OldLedger.test("sweep clock: two processes with the same wrong clock advance it once", async (ledger) => {
  await using other = await openOldLedger(ledger.temp.path);
  const both = [ledger.retention, other.archive];
  for (const each of both) each.nowMs = NOON + WRONG_MS;
  const jobs = both.map((each) => each.job());
  const reports = await Promise.all(jobs.map((job) => job.sweepIfDue()));
  assertEquals(reports.flatMap((report) => report?.clockAt ?? []), [NOON + DAY_MS / 2]);
  // The wrong clock's next night has no report, and yet the other process does not begin.
  for (const [i, job] of jobs.entries()) {
    const archive = both[i] ?? ledger.retention;
    archive.nowMs += DAY_MS;
    archive.processMs += SWEEP_GAP_MS - MINUTE_MS;
    assertEquals(await job.sweepIfDue(), null);
  }
  assertEquals(await clockOf(ledger.retention), NOON + DAY_MS / 2);
  await assertYoung(ledger);
});

OldLedger.test("sweep clock: a process that starts after another one advanced it does not repeat that the next night", async (ledger) => {
  await using other = await openOldLedger(ledger.temp.path);
  for (const each of [ledger.retention, other.archive]) each.nowMs = NOON + WRONG_MS;
  await ledger.retention.job().sweepIfDue();
  const job = other.archive.job();
  assertEquals(await job.sweepIfDue(), null);
  other.archive.nowMs += DAY_MS;
  other.archive.processMs += SWEEP_GAP_MS - MINUTE_MS;
  assertEquals(await job.sweepIfDue(), null);
  assertEquals(await clockOf(ledger.retention), NOON + DAY_MS / 2);
});

OldLedger.test("sweep clock: after a long absence it catches up night by night, and is never ahead", async ({ retention }) => {
  retention.nowMs = NOON + 7 * DAY_MS;
  const job = retention.job();
  const behind: number[] = [];
  for (let night = 0; behind.at(-1) !== 0; night++) {
    assert(night < 20, `still behind after ${night} nights`);
    const report = await job.sweepIfDue();
    assert(report !== null, `night ${night}`);
    behind.push((retention.nowMs - report.clockAt) / HOUR_MS);
    retention.nowMs += DAY_MS;
    retention.processMs += DAY_MS;
  }
  assertEquals(behind[0], 8 * 24 - 36);
  assertEquals(behind.slice(1), behind.slice(0, -1).map((hours) => Math.max(0, hours - 12)));
});

OldLedger.test("sweep clock: an interrupted sweep resumes with its own time and does not advance the clock again", async (ledger) => {
  const { retention, temp } = ledger;
  retention.nowMs = NOON + WRONG_MS;
  // A step takes longer than a look.
  const job = retention.job(stepping(retention.sweeps, () => retention.processMs += 1_000));
  for (let turns = 0; turns < 4; turns++) assert(await job.runTurn());
  const next = new RetentionHarness(temp.store);
  next.nowMs = retention.nowMs + 2 * MINUTE_MS;
  const report = await next.job().sweepIfDue();
  assertEquals([report?.clockAt, report?.counts], [NOON + DAY_MS / 2, OLD_SWEPT]);
  assertEquals(await clockOf(next), NOON + DAY_MS / 2);
  await assertYoung(ledger);
});

OldLedger.test("sweep clock: a clock set back removes nothing, and has no effect afterwards", async ({ retention }) => {
  retention.nowMs = NOON - WRONG_MS;
  const job = retention.job();
  assertEquals(await job.sweepIfDue(), null);
  assertEquals(await clockOf(retention), NOON - DAY_MS);
  retention.processMs += SWEEP_GAP_MS;
  const report = await job.sweepIfDue();
  assertEquals([report?.clockAt, report?.counts], [retention.nowMs, EMPTY_SWEEP]);
  assertEquals(await clockOf(retention), NOON - DAY_MS - SWEEP_CLOCK_STEP_MS);
  retention.nowMs = NOON;
  assertEquals(await job.sweepIfDue(), null);
  retention.processMs += SWEEP_GAP_MS;
  const forward = await job.sweepIfDue();
  assertEquals(forward?.clockAt, NOON - DAY_MS);
});

OldLedger.test("sweep clock: a ledger without one gets one and loses nothing, even with a wrong clock at the first start", async ({ retention, temp, team }) => {
  await temp.store.writer.commit({ deletes: [["sweep_clock"]] });
  retention.nowMs = NOON + WRONG_MS;
  const first = retention.job();
  assertEquals(await first.sweepIfDue(), null);
  assertEquals(await first.sweepIfDue(), null);
  assertEquals(await clockOf(retention), NOON + WRONG_MS);
  assertEquals(await retention.sweeps.reports(9), []);
  // Right again: it returns one step per night, and only data due by the right clock is removed.
  retention.nowMs = NOON;
  const job = retention.job();
  assertEquals(await job.sweepIfDue(), null);
  let nights = 0;
  while ((await clockOf(retention) ?? 0) > retention.nowMs) {
    retention.processMs += SWEEP_GAP_MS;
    retention.nowMs += DAY_MS;
    const report = await job.sweepIfDue();
    assertEquals(report?.clockAt, retention.nowMs);
    await aRunNow(retention, team, 100 + ++nights);
  }
  assertEquals(nights, 18);
  assert(await readRun(retention.runs, team, run(117), null, 9) !== null);
});

OldLedger.test("sweep clock: a manual sweep uses the machine's clock, and later sweeps continue from there", async ({ retention, team }) => {
  retention.nowMs = NOON + WRONG_MS;
  const report = await retention.job().sweepNow();
  assertEquals(report?.clockAt, retention.nowMs);
  assertEquals(await readRun(retention.runs, team, run(20), null, 9), null);
  assertEquals(await clockOf(retention), retention.nowMs);
});
