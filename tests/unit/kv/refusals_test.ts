/**
 * Refused calls in the store (R13): written once per minute, exact with several processes, bounded.
 */
import { storeOver } from "../../support/harness/stores.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { Memory } from "../../../runtime/memory.ts";
import type { Refusals } from "../../../domain/refusals/refusals.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { createRefusalStore } from "../../../kv/refusals/refusal_store.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aRefusal } from "../../support/builders/refusals.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const TEAM = "01J00000000000000000000000" as TeamId;
const OTHER_TEAM = "01J00000000000000000000001" as TeamId;
const CODES = ["missing_field", "invalid_field", "id_conflict", "not_found"] as const;

function total({ counts }: Refusals): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

TempStore.test("R13: a minute of refusals is one commit per team, however many there were", async (temp) => {
  const refusals = createRefusalStore(temp.store, () => NOON);
  for (let n = 0; n < 5_000; n++) {
    refusals.note(TEAM, aRefusal());
    refusals.note(OTHER_TEAM, aRefusal());
  }
  await refusals.flush();
  await refusals.flush();
  assertEquals(temp.store.writer.metrics.writes.sum, 2);
  assertEquals(total(await refusals.read(TEAM, NOON)), 5_000);
});

TempStore.test("R13: processes on one store add to each other's counts", async (temp) => {
  const processes = Array.from({ length: 4 }, () => createRefusalStore(temp.store, () => NOON));
  for (let round = 0; round < 5; round++) {
    for (const [n, refusals] of processes.entries()) {
      for (let i = 0; i <= n; i++) refusals.note(TEAM, aRefusal({ code: CODES[n]! }));
    }
    await Promise.all(processes.map((refusals) => refusals.flush()));
  }
  const { counts, latest } = await processes[0]!.read(TEAM, NOON);
  assertEquals(counts.map(({ code, count }) => [code, count]), [
    [CODES[3], 20],
    [CODES[2], 15],
    [CODES[1], 10],
    [CODES[0], 5],
  ]);
  assertEquals(latest.length, 50);
});

Deno.test("R13: a write of unknown outcome is neither counted twice nor lost", async () => {
  const kv = await Deno.openKv(":memory:");
  using deadlines = new Deadlines(30_000, TIMERS);
  let fault: Fault = "none";
  const store = storeOver(faultKv(kv, () => fault), kv, BACK_ENDS.embedded, deadlines);
  const refusals = createRefusalStore(store, () => NOON);
  const countNow = async () => total(await refusals.read(TEAM, NOON));
  try {
    for (const [failing, expected] of [["throw", 2], ["commit then throw", 5]] as const) {
      fault = failing;
      refusals.note(TEAM, aRefusal());
      await assertRejects(() => refusals.flush(), StorageUnavailable);
      refusals.note(TEAM, aRefusal());
      assertEquals(await countNow(), expected, failing);
      fault = "none";
      await refusals.flush();
      assertEquals(await countNow(), expected, failing);
      refusals.note(TEAM, aRefusal());
      await refusals.flush();
      assertEquals(await countNow(), expected + 1, failing);
    }
  } finally {
    await store.writer.idle();
    kv.close();
  }
});

Deno.test("R13: counts that cannot be written stay within the memory share, then are written", async () => {
  const kv = await Deno.openKv(":memory:");
  using deadlines = new Deadlines(30_000, TIMERS);
  let fault: Fault = "throw";
  const store = storeOver(faultKv(kv, () => fault), kv, BACK_ENDS.embedded, deadlines);
  const memory = new Memory(60);
  const refusals = createRefusalStore({ ...store, memory }, () => NOON);
  try {
    for (let minute = 0; minute < 4; minute++) {
      for (let n = 0; n < 150; n++) {
        refusals.note(`${minute}-${n}` as TeamId, aRefusal());
        refusals.note(TEAM, aRefusal());
      }
      await assertRejects(() => refusals.flush(), StorageUnavailable);
      const [use] = memory.uses().filter(({ share }) => share === "refusals");
      assert(use!.bytes > use!.bytesMax / 4 && use!.bytes <= use!.bytesMax, String(use!.bytes));
    }
    fault = "none";
    // The second flush writes what came after the failed write of the same team.
    await refusals.flush();
    await refusals.flush();
    assertEquals(total(await refusals.read(TEAM, NOON)), 600);
    const rows = await Array.fromAsync(kv.list({ prefix: ["refusal"] }));
    assert(rows.length > 20, String(rows.length));
  } finally {
    await store.writer.idle();
    kv.close();
  }
});

TempStore.test("R13: the longest texts fit the rows, whatever their characters", async (temp) => {
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
  const report = await refusals.read(TEAM, NOON);
  assertEquals(total(report), 200);
  assert(report.latest.length >= 20, String(report.latest.length));
  assertEquals((await temp.keysBelow(["refusal"])).length, 1);
});
