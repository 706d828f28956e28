/**
 * Refused calls in the store (R13): written once per minute, exact with several processes, bounded.
 */
import { storeOver } from "../../support/harness/stores.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { Deadlines } from "../../../domain/core/deadlines.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { REFUSAL_LIMITS } from "../../../domain/core/limits.ts";
import { firstKeptHour, type RefusalReport } from "../../../domain/refusals/refusals.ts";
import { TIMERS } from "../../../kv/base/deadline.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { forgetRefusals } from "../../../kv/refusals/refusal_rows.ts";
import { createRefusalStore } from "../../../kv/refusals/refusal_store.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aRefusal } from "../../support/builders/refusals.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const TEAM = "01J00000000000000000000000" as TeamId;
const OTHER_TEAM = "01J00000000000000000000001" as TeamId;
const HOUR_MS = 3_600_000, DAY_MS = 24 * HOUR_MS;
const ALL_HOURS = REFUSAL_LIMITS.days * 24;

/** Counts the refusals of a report in two ways. */
function totals({ hours, groups }: RefusalReport): [number, number] {
  const sum = (all: readonly { count: number }[]) => all.reduce((sum, { count }) => sum + count, 0);
  return [sum(hours), sum(groups)];
}

Deno.test("R13: unwritten refusals are included in reads, which are the same once they are written", async () => {
  await using temp = await TempStore.open();
  const refusals = createRefusalStore(temp.store, () => NOON);
  refusals.note(TEAM, aRefusal({ at: NOON - HOUR_MS, field: "agent" }));
  for (let n = 0; n < 3; n++) refusals.note(TEAM, aRefusal({ at: NOON + n, requestId: `r${n}` }));
  const before = await refusals.read(TEAM, NOON, 24);
  assertEquals(totals(before), [4, 4]);
  assertEquals(before.hours.map(({ count }) => count), [3, 1]);
  assertEquals(before.latest.map(({ requestId }) => requestId), ["r2", "r1", "r0", "request-1"]);
  assertEquals((await temp.keysBelow(["refusal"])).length, 0);
  await refusals.flush();
  assertEquals(await refusals.read(TEAM, NOON, 24), before);
  assertEquals((await temp.keysBelow(["refusal"])).length, 3);
  const after = createRefusalStore(await temp.reopen(), () => NOON);
  assertEquals(await after.read(TEAM, NOON, 24), before);
  assertEquals(totals(await after.read(TEAM, NOON, 1)), [4, 3]);
  assertEquals(totals(await after.read(TEAM, NOON, 0)), [4, 0]);
  assertEquals(totals(await after.read(OTHER_TEAM, NOON, 24)), [0, 0]);
});

Deno.test("R13: a minute of refusals is one commit per team, however many there were", async () => {
  await using temp = await TempStore.open();
  const refusals = createRefusalStore(temp.store, () => NOON);
  for (let n = 0; n < 5_000; n++) {
    refusals.note(TEAM, aRefusal());
    refusals.note(OTHER_TEAM, aRefusal());
  }
  await refusals.flush();
  await refusals.flush();
  assertEquals(temp.store.writer.metrics.writes.sum, 2);
  assertEquals(totals(await refusals.read(TEAM, NOON, 1)), [5_000, 5_000]);
});

Deno.test("R13: processes on one store add to each other's counts", async () => {
  await using temp = await TempStore.open();
  const processes = Array.from({ length: 4 }, () => createRefusalStore(temp.store, () => NOON));
  for (let round = 0; round < 5; round++) {
    for (const [n, refusals] of processes.entries()) {
      for (let i = 0; i <= n; i++) refusals.note(TEAM, aRefusal({ field: `f${n}` }));
    }
    await Promise.all(processes.map((refusals) => refusals.flush()));
  }
  const [reader] = processes;
  const report = await reader!.read(TEAM, NOON, 1);
  assertEquals(totals(report), [50, 50]);
  const counts = report.groups.map(({ field, count }) => [field, count]);
  assertEquals(counts, [["f3", 20], ["f2", 15], ["f1", 10], ["f0", 5]]);
});

Deno.test("R13: a write of unknown outcome is neither counted twice nor lost", async () => {
  const kv = await Deno.openKv(":memory:");
  using deadlines = new Deadlines(2_000, TIMERS);
  let fault: Fault = "none";
  const store = storeOver(faultKv(kv, () => fault), kv, BACK_ENDS.embedded, deadlines);
  const refusals = createRefusalStore(store, () => NOON);
  const countNow = async () => totals(await refusals.read(TEAM, NOON, 1));
  try {
    for (const [failing, expected] of [["throw", 2], ["commit then throw", 5]] as const) {
      fault = failing;
      refusals.note(TEAM, aRefusal());
      await assertRejects(() => refusals.flush(), StorageUnavailable);
      refusals.note(TEAM, aRefusal());
      assertEquals(await countNow(), [expected, expected], failing);
      fault = "none";
      await refusals.flush();
      assertEquals(await countNow(), [expected, expected], failing);
      refusals.note(TEAM, aRefusal());
      await refusals.flush();
      assertEquals(await countNow(), [expected + 1, expected + 1], failing);
    }
  } finally {
    await store.writer.idle();
    kv.close();
  }
});

Deno.test("R13: an hour keeps its combinations across writes, then counts by code", async () => {
  await using temp = await TempStore.open();
  const refusals = createRefusalStore(temp.store, () => NOON);
  for (let round = 0; round < 4; round++) {
    for (let n = 0; n < 60; n++) refusals.note(TEAM, aRefusal({ field: `f${round}-${n}` }));
    await refusals.flush();
  }
  const report = await refusals.read(TEAM, NOON, 1);
  assertEquals(totals(report), [240, 240]);
  assertEquals(report.groups.length, REFUSAL_LIMITS.kindsPerHour + 1);
  assertEquals(report.groups[0]?.field, "(other)");
  assertEquals(report.latest.length, REFUSAL_LIMITS.latest);
});

Deno.test("R13: the longest texts fit the rows, whatever their characters", async () => {
  await using temp = await TempStore.open();
  const refusals = createRefusalStore(temp.store, () => NOON);
  const text = (chars: number) =>
    Array.from(
      crypto.getRandomValues(new Uint16Array(chars)),
      (unit) => String.fromCharCode(0x4e00 + unit % 0x5000),
    ).join("");
  for (let n = 0; n < 200; n++) {
    const kind = { field: text(64), agent: text(128), userAgent: text(128) };
    refusals.note(TEAM, aRefusal({ ...kind, message: text(300) }));
  }
  await refusals.flush();
  const report = await refusals.read(TEAM, NOON, 1);
  assertEquals(totals(report), [200, 200]);
  assert(report.latest.length >= 20, String(report.latest.length));
  assert(report.groups.length > 40, String(report.groups.length));
});

Deno.test("R13: refusals are kept for 7 days and then removed, by a write or the sweep", async () => {
  await using temp = await TempStore.open();
  let nowMs = NOON;
  const refusals = createRefusalStore(temp.store, () => nowMs);
  for (let day = 0; day < 10; day++) {
    nowMs = NOON + day * DAY_MS;
    refusals.note(TEAM, aRefusal({ at: nowMs }));
    await refusals.flush();
    const { hours, latest, groups } = await refusals.read(TEAM, nowMs, ALL_HOURS);
    const keptDays = Math.min(day + 1, REFUSAL_LIMITS.days);
    assertEquals(
      [hours.length, latest.length, groups.length],
      [keptDays, keptDays, keptDays],
      String(day),
    );
    assert(hours.every(({ hour }) => hour >= firstKeptHour(nowMs)));
    assertEquals((await temp.keysBelow(["refusal", TEAM])).length, keptDays + 1);
  }
  await forgetRefusals(temp.store, TEAM, nowMs + 3 * DAY_MS);
  assertEquals((await temp.keysBelow(["refusal", TEAM])).length, 5);
  // A read before the sweep omits them as well.
  assertEquals((await refusals.read(TEAM, nowMs + 20 * DAY_MS, 24)).latest, []);
  await forgetRefusals(temp.store, TEAM, nowMs + 20 * DAY_MS);
  assertEquals(await temp.keysBelow(["refusal", TEAM]), []);
  await forgetRefusals(temp.store, TEAM, nowMs + 20 * DAY_MS);
  assertEquals(await temp.keysBelow(["refusal", TEAM]), []);
});
