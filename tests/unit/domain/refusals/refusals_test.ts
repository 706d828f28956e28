/** In-memory counting of refused calls (R13). */
import { assert, assertEquals } from "@std/assert";
import type { TeamId } from "../../../../domain/core/ids.ts";
import { REFUSAL_LIMITS } from "../../../../domain/core/limits.ts";
import { PendingRefusals } from "../../../../domain/refusals/pending_refusals.ts";
import { RefusalTally } from "../../../../domain/refusals/refusal_tally.ts";
import { OTHER, type Refusal } from "../../../../domain/refusals/refusals.ts";
import { aRefusal } from "../../../support/builders/refusals.ts";
import { NOON } from "../../../support/harness/harness.ts";

const HOUR_MS = 3_600_000;
const TEAMS = ["a", "b", "c"] as TeamId[];

/** Counts of a tally by code, over all hours. */
function countsOf({ hours }: RefusalTally): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind, count } of [...hours.values()].flatMap((groups) => [...groups.values()])) {
    counts[kind.code] = (counts[kind.code] ?? 0) + count;
  }
  return counts;
}

Deno.test("R13: calls of one kind are counted together, by hour", () => {
  const tally = new RefusalTally("t");
  for (const at of [NOON, NOON + HOUR_MS - 1, NOON + HOUR_MS]) tally.add(aRefusal({ at }));
  tally.add(aRefusal({ field: "agent" }));
  const counts = [...tally.hours].map(([hour, groups]) => [
    hour,
    [...groups.values()].map(({ kind, count }) => [kind.field, count]),
  ]);
  assertEquals(counts, [
    [NOON, [["goal", 2], ["agent", 1]]],
    [NOON + HOUR_MS, [["goal", 1]]],
  ]);
});

Deno.test("R13: beyond the combinations of an hour calls are counted by code alone, and every call counts", () => {
  const tally = new RefusalTally("t");
  for (let n = 0; n < 3 * REFUSAL_LIMITS.kindsPerHour; n++) {
    tally.add(aRefusal({ field: `f${n}`, code: n % 2 === 0 ? "invalid_field" : "missing_field" }));
  }
  const [groups] = tally.hours.values();
  const remainder = [...groups!.values()].filter(({ kind }) => kind.field === OTHER);
  assertEquals(groups?.size, REFUSAL_LIMITS.kindsPerHour + 2);
  assertEquals(remainder.map(({ count }) => count), [
    REFUSAL_LIMITS.kindsPerHour,
    REFUSAL_LIMITS.kindsPerHour,
  ]);
  const half = 3 * REFUSAL_LIMITS.kindsPerHour / 2;
  assertEquals(countsOf(tally), { invalid_field: half, missing_field: half });
});

Deno.test("R13: the latest refusals are kept; for a flood, the first of each kind", () => {
  const tally = new RefusalTally("t");
  for (let n = 0; n < REFUSAL_LIMITS.latest + 5; n++) tally.add(aRefusal({ requestId: String(n) }));
  assertEquals(tally.latest.length, REFUSAL_LIMITS.latest);
  assertEquals(tally.latest.at(0)?.requestId, "5");
  for (let n = 0; n < 1_000; n++) tally.add(aRefusal({ code: "rate_limit", field: null }));
  assertEquals(tally.latest.filter(({ code }) => code === "rate_limit").length, 1);
  assertEquals(countsOf(tally).rate_limit, 1_000);
});

Deno.test("R13: the size of a tally is tracked, and shedding ends at the counts by code", () => {
  const tally = new RefusalTally("t");
  const empty = tally.bytes;
  for (let n = 0; n < 300; n++) tally.add(aRefusal({ field: `f${n}`, message: "m".repeat(300) }));
  assert(tally.bytes > empty + 100 * 300 * 2, String(tally.bytes));
  let sheds = 0;
  for (let before = Infinity; tally.shed(); sheds++) {
    assert(tally.bytes < before);
    before = tally.bytes;
  }
  assert(sheds < 12, String(sheds));
  assertEquals([countsOf(tally), tally.latest], [{ invalid_field: 300 }, []]);
  assert(tally.bytes < empty + 1_000, String(tally.bytes));
});

Deno.test("R13: all teams together stay within the byte limit, and the largest tally is shed first", () => {
  const bytesMax = 60_000;
  const pending = new PendingRefusals(bytesMax, () => "t");
  const note = (team: TeamId, fields: Partial<Refusal>) => {
    pending.note(team, aRefusal(fields));
    assert(pending.bytes <= bytesMax, String(pending.bytes));
  };
  const [small, large] = [TEAMS[0]!, TEAMS[1]!];
  note(small, { message: "mine" });
  for (let n = 0; n < 2_000; n++) note(large, { field: `f${n}`, message: "m".repeat(300) });
  assertEquals(pending.of(small)?.latest.map(({ message }) => message), ["mine"]);
  assertEquals(countsOf(pending.of(large)!), { invalid_field: 2_000 });
  assertEquals(pending.take(new Map([[small, 1]])).map(([team]) => team), [large]);
  assertEquals(pending.take(new Map()).map(([team]) => team), [small]);
  assertEquals(pending.bytes, 0);
});

Deno.test("R13: any number of teams stays within the limit", () => {
  const pending = new PendingRefusals(20_000, () => "t");
  for (let n = 0; n < 500; n++) {
    pending.note(`team${n}` as TeamId, aRefusal({ message: "m".repeat(300) }));
    assert(pending.bytes <= 20_000);
  }
  assert(pending.take(new Map()).length > 10);
});
