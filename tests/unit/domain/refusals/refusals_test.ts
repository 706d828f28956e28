/** Refused calls in memory, and their sums (R13). */
import { assert, assertEquals } from "@std/assert";
import type { TeamId } from "../../../../domain/core/ids.ts";
import { REFUSAL_LIMITS } from "../../../../domain/core/limits.ts";
import { PendingRefusals } from "../../../../runtime/pending_refusals.ts";
import { addRefusals, NO_REFUSALS, type Refusal } from "../../../../domain/refusals/refusals.ts";
import { aRefusal } from "../../../support/builders/refusals.ts";
import { NOON } from "../../../support/harness/harness.ts";

const DAY_MS = 86_400_000;
const [TEAM, OTHER_TEAM] = ["a", "b"] as [TeamId, TeamId];

function pendingOf(refusals: readonly Partial<Refusal>[]) {
  const pending = new PendingRefusals(1e9, () => "t");
  for (const fields of refusals) pending.note(TEAM, aRefusal(fields));
  return pending.of(TEAM)!;
}

Deno.test("R13: a sum omits what is older than 7 days, and keeps the latest 100 calls", () => {
  const older = pendingOf([7, 6, 1].map((days) => ({ at: NOON - days * DAY_MS })));
  const newer = pendingOf(
    Array.from({ length: 98 }, (_, n) => ({ at: NOON + n, requestId: String(n) })),
  );
  const { counts, latest } = addRefusals(older, newer, NOON);
  assertEquals(counts.map(({ day, count }) => [day, count]), [
    ["2026-11-21", 98],
    ["2026-11-20", 1],
    ["2026-11-15", 1],
  ]);
  assertEquals([latest.length, latest[0]?.requestId], [REFUSAL_LIMITS.latest, "97"]);
  assertEquals(latest.at(-1)?.at, NOON - 6 * DAY_MS);
  assertEquals(addRefusals(older, newer, NOON + 20 * DAY_MS), NO_REFUSALS);
});

Deno.test("R13: the latest calls are kept; of a flood beyond the rate, the first", () => {
  const flood = Array.from({ length: 1_000 }, () => ({ code: "rate_limit" as const }));
  const pending = pendingOf([
    ...Array.from({ length: 105 }, (_, n) => ({ requestId: String(n) })),
    ...flood,
  ]);
  assertEquals(pending.latest.length, REFUSAL_LIMITS.latest);
  assertEquals(pending.latest.slice(0, 2).map(({ code }) => code), ["rate_limit", "invalid_field"]);
  assertEquals(pending.latest.at(-1)?.requestId, "6");
  assertEquals(pending.counts.map(({ code, count }) => [code, count]), [
    ["invalid_field", 105],
    ["rate_limit", 1_000],
  ]);
});

Deno.test("R13: all teams together stay within the byte limit; the largest loses messages, not counts", () => {
  const bytesMax = 20_000;
  const pending = new PendingRefusals(bytesMax, () => "t");
  const note = (team: TeamId) => {
    pending.note(team, aRefusal({ message: "m".repeat(300) }));
    assert(pending.bytes <= bytesMax, String(pending.bytes));
  };
  note(OTHER_TEAM);
  for (let n = 0; n < 2_000; n++) note(TEAM);
  assertEquals(pending.of(OTHER_TEAM)?.latest.length, 1);
  assertEquals(pending.of(TEAM)?.counts[0]?.count, 2_000);
  assert(pending.of(TEAM)!.latest.length > 0);
  // So many teams that not all fit.
  for (let n = 0; n < 500; n++) note(`team${n}` as TeamId);
  assert(pending.all().length > 5, String(pending.all().length));
  for (const [team] of pending.all()) pending.take(team);
  assertEquals(pending.bytes, 0);
});
