/** The nightly job: its schedule, that each night is swept once, and that calls take priority. */
import { addCounts } from "../../../domain/core/sums.ts";
import { assert, assertEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import type { TeamId } from "../../../domain/core/ids.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import {
  EMPTY_SWEEP,
  SWEEP_SILENCE_MS,
  type SweepReport,
} from "../../../domain/retention/sweep.ts";
import { SweepJob } from "../../../jobs/sweep.ts";
import { DAY_MS, HOUR_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { FakeSweeps } from "../../support/fakes/fake_sweeps.ts";
import { NOON } from "../../support/harness/harness.ts";
import { OLD_SWEPT, OldLedger, openOldLedger } from "../../support/builders/old_ledger.ts";
import { run } from "../../support/builders/stored_runs.ts";
import { strayRows } from "../../support/oracles/stray_rows.ts";
import { Gate } from "../../support/harness/worker_harness.ts";
import type { SweepStore } from "../../../kv/retention/sweep_store.ts";

const NIGHT = "2026-11-21";

/** A store with a hook before each step. */
function stepping(store: SweepStore, before: () => unknown): SweepStore {
  return {
    ...store,
    async step(...args) {
      await before();
      return await store.step(...args);
    },
  };
}

/** Reports logged by a job, in order. */
function loggedReports({ log }: RetentionHarness): SweepReport[] {
  return log.map((line) => JSON.parse(line).sweep);
}

Deno.test("sweep job: a night is swept once, with its progress and its report", async () => {
  await using ledger = await OldLedger.open();
  const { retention } = ledger;
  // Each step takes four seconds.
  const job = retention.job(() => 0, stepping(retention.sweeps, () => retention.nowMs += 4_000));
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
  retention.processMs = 20 * HOUR_MS;
  assertEquals((await job.sweepIfDue())?.night, "2026-11-22");
  assertEquals((await retention.sweeps.reports(9)).map((each) => each.night), [
    "2026-11-22",
    NIGHT,
  ]);
});

Deno.test("sweep job: a sweep logs what it removed, and nothing if it removed nothing", async () => {
  await using ledger = await OldLedger.open();
  const { retention } = ledger;
  assert(await retention.job(undefined, undefined, true).sweepIfDue() !== null);
  assertEquals(loggedReports(retention).at(-1)?.counts, OLD_SWEPT);
  const before = retention.log.length;
  for (const quiet of [true, false]) {
    retention.nowMs += DAY_MS;
    retention.processMs += DAY_MS;
    const report = await retention.job(undefined, undefined, quiet).sweepIfDue();
    assertEquals(report?.counts, EMPTY_SWEEP);
    assertEquals(retention.log.length - before, quiet ? 0 : 1);
  }
});

Deno.test("sweep job: of several processes that start together one sweeps", async () => {
  await using ledger = await OldLedger.open();
  await using other = await openOldLedger(ledger.temp.path);
  const all = [ledger.retention, new RetentionHarness(ledger.temp.store), other.archive];
  const reports = await Promise.all(all.map((each) => each.job().sweepIfDue()));
  assertEquals(reports.flatMap((report) => report?.counts ?? []), [OLD_SWEPT]);
});

Deno.test("sweep job: a silent process is taken over, and counts nothing when it resumes", async () => {
  await using ledger = await OldLedger.open();
  const { retention: silent, temp } = ledger;
  const second = new RetentionHarness(temp.store);
  const gate = new Gate();
  let steps = 0;
  const stuck = stepping(silent.sweeps, () => ++steps === 3 ? gate.pass() : null);
  const asleep = silent.job(() => 0, stuck).sweepIfDue();
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

Deno.test("sweep job: on stop it finishes its step, and the next sweep does the remaining work", async () => {
  await using ledger = await OldLedger.open();
  const { retention, temp } = ledger;
  let steps = 0;
  const gate = new Gate();
  const job = retention.job(
    () => 0,
    stepping(retention.sweeps, () => ++steps === 4 ? gate.pass() : null),
  );
  job.start();
  await gate.reached();
  const stopped = job.stop();
  gate.open();
  await stopped;
  assertEquals(steps, 4);
  const [broken] = await retention.sweeps.reports(1);
  assert(broken !== undefined && broken.finishedAt === null);
  assert(broken.counts.released > 0, "its work is not reported");
  const next = new RetentionHarness(temp.store);
  next.nowMs = NOON + SWEEP_SILENCE_MS + 1;
  assertEquals((await next.job().sweepIfDue())?.counts, OLD_SWEPT);
});

Deno.test("sweep job: the next check finishes an interrupted delete, also if the night is already swept", async () => {
  await using ledger = await OldLedger.open();
  const { retention, team, temp } = ledger;
  const report = {
    night: NIGHT,
    clockAt: NOON,
    startedAt: NOON,
    toldAt: NOON,
    finishedAt: NOON,
    teams: 1,
  };
  await retention.sweeps.saveReport(null, { ...report, counts: EMPTY_SWEEP });
  let commits = 0;
  await using killed = await openOldLedger(temp.path, () => ++commits === 2 ? "throw" : "none");
  await killed.archive.deletions.deleteRun(team, run(14), "key").catch(() => null);
  assert((await strayRows(temp.store)).length > 300);
  assertEquals(await retention.job().sweepIfDue(), null);
  assertEquals(await strayRows(temp.store), []);
});

/** Lets the time pass until work is done. */
async function passUntil(time: FakeTime, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  work.finally(() => isDone = true);
  while (!isDone) await time.nextAsync();
}

Deno.test("sweep job: under load it pauses nine times the duration of each step, otherwise never", async () => {
  for (const comeIn of [true, false]) {
    using time = new FakeTime();
    const pauses: number[] = [];
    let endMs = time.now;
    const notePause = () => void (time.now > endMs && pauses.push(time.now - endMs));
    const store = new FakeSweeps(25, () => {
      notePause();
      time.tick(7);
      endMs = time.now;
    });
    let calls = 0;
    const job = new SweepJob({
      store,
      now: () => NOON,
      processMs: () => time.now,
      calls: () => comeIn ? calls++ : calls,
      log: () => {},
    });
    const sweeping = job.sweepIfDue();
    await passUntil(time, sweeping);
    notePause();
    const report = await sweeping;
    // For two teams: 25 steps of payloads, one per other class, and one of sessions.
    assertEquals(report?.counts.payloads, 56);
    assertEquals(pauses, comeIn ? Array(57).fill(63) : []);
  }
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
    new SweepJob({
      store,
      now: () => nowMs,
      processMs: () => performance.now(),
      calls: () => 0,
      log: () => {},
    });
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
  using time = new FakeTime(Date.UTC(2028, 1, 29, 1, 30));
  const store = new FakeSweeps(1);
  store.clockMs = time.now - DAY_MS;
  const job = new SweepJob({
    store,
    now: () => time.now,
    // The pause has always passed: this test is about the nights.
    processMs: () => 60 * time.now,
    calls: () => 0,
    log: () => {},
  });
  job.start();
  while (store.known.size < 3) {
    const beforeMs = time.now;
    await time.nextAsync();
    assert(time.now - beforeMs <= 60_000, `no look at the clock for ${time.now - beforeMs} ms`);
  }
  await job.stop();
  assertEquals((await store.reports()).map(({ night, startedAt }) => [night, startedAt]), [
    ["2028-02-28", Date.UTC(2028, 1, 29, 1, 30)],
    ["2028-02-29", Date.UTC(2028, 1, 29, 2)],
    ["2028-03-01", Date.UTC(2028, 2, 1, 2)],
  ]);
});

Deno.test("sweep job: it resumes when the store works again, and a failed night within two minutes", async () => {
  using time = new FakeTime(NOON);
  const store = new FakeSweeps(1);
  store.failures = 3;
  const report = {
    night: NIGHT,
    clockAt: NOON,
    startedAt: NOON,
    toldAt: NOON,
    finishedAt: null,
    teams: 1,
  };
  const counts = { ...EMPTY_SWEEP, records: 5 };
  await store.saveReport(null, { ...report, counts });
  const job = new SweepJob({
    store,
    now: () => time.now,
    processMs: () => time.now,
    calls: () => 0,
    log: () => {},
  });
  job.start();
  while (!store.known.get(NIGHT)?.report.finishedAt) await time.nextAsync();
  await job.stop();
  const [finished] = await store.reports();
  assertEquals(finished?.counts, addCounts(counts, { ...EMPTY_SWEEP, payloads: 8 }));
  assert((finished?.finishedAt ?? 0) - NOON <= 2 * 60_000 + 15_000);
});

Deno.test("sweep job: the reports of the last 60 nights are kept", async () => {
  await using ledger = await OldLedger.open();
  const { retention } = ledger;
  for (let night = 0; night < 63; night++, retention.nowMs += DAY_MS) {
    await retention.job().sweepIfDue();
  }
  const nights = (await retention.sweeps.reports(100)).map(({ night }) => night);
  assertEquals([nights.length, nights[0]], [60, "2027-01-22"]);
  assertEquals(await strayRows(ledger.temp.store), []);
});
