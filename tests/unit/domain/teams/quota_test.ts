import { RETRIES } from "../../../../domain/work/work.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  attempted,
  claimed,
  newNotice,
  type Notice,
  NOTICE_LEASE_MS,
  NOTICE_SEND_MS_MAX,
  noticeText,
  percentsReached,
  projectedUse,
  quotaState,
} from "../../../../domain/teams/quota.ts";
import type { TeamId } from "../../../../domain/core/ids.ts";

const NOVEMBER = Date.UTC(2026, 10, 21, 12);

Deno.test("quota: the state changes at exactly 80 % and exactly 100 %", () => {
  for (const included of [5, 7, 100_000, 2_000_000, 25_000_000, 2 ** 53 - 1]) {
    const first = Number((BigInt(included) * 4n + 4n) / 5n);
    assertEquals(quotaState(first - 1, included), "normal", `${included}`);
    assertEquals(quotaState(first, included), "heads_up", `${included}`);
    assertEquals(quotaState(included - 1, included), "heads_up", `${included}`);
    assertEquals(quotaState(included, included), "over", `${included}`);
  }
  assertEquals(quotaState(0, 100), "normal");
  assertEquals([79_999, 80_000, 100_000].map((used) => percentsReached(used, 100_000)), [
    [],
    [80],
    [80, 100],
  ]);
});

Deno.test("quota: a month is projected from its elapsed share", () => {
  assertEquals(projectedUse(100, "2026-11", Date.UTC(2026, 10, 16)), 200);
  assertEquals(projectedUse(100, "2024-02", Date.UTC(2024, 1, 15, 12)), 200);
  assertEquals(projectedUse(1, "2026-11", Date.UTC(2026, 10, 21)), 2);
  assertEquals(projectedUse(0, "2026-11", NOVEMBER), 0);
  // The first instant, the last, and a month that is over.
  assertEquals(projectedUse(7, "2026-11", Date.UTC(2026, 10, 1)), 7);
  assertEquals(projectedUse(7, "2026-11", Date.UTC(2026, 11, 1) - 1), 7);
  assertEquals(projectedUse(7, "2026-11", Date.UTC(2026, 11, 1)), 7);
  assertEquals(projectedUse(7, "2025-01", NOVEMBER), 7);
});

Deno.test("quota: the e-mail states the count at its mark, when it resets, and that nothing is lost (R39)", () => {
  const facts = { month: "2026-12", percent: 80, used: 80_123, included: 100_000 } as const;
  const { subject, text } = noticeText({ ...facts, teamName: "Ships\r\nBcc: x@y" });
  assertEquals(subject.split(/[\r\n]/).length, 1);
  assertStringIncludes(subject, "80 %");
  for (const part of ["used 80,000 of the 100,000", "2027-01-01 00:00 UTC", "Nothing is cut off"]) {
    assertStringIncludes(text, part);
  }
  assert(!text.includes("\r"), text);
});

const NOTICE: Notice = newNotice(
  { team: "t" as TeamId, month: "2026-11", percent: 80 },
  { teamName: "t", month: "2026-11", percent: 80, used: 8, included: 10 },
  true,
  NOVEMBER,
);

Deno.test("notice: failed attempts back off, and the eighth is the last", () => {
  let notice = NOTICE;
  const waits: number[] = [];
  while (notice.state === "pending") {
    notice = attempted(claimed(notice, NOVEMBER), { kind: "failed", error: "no" }, NOVEMBER);
    waits.push((notice.dueMs - NOVEMBER) / 60_000);
  }
  assertEquals([notice.state, notice.attempts], ["dead", RETRIES.notice.triesMax]);
  assertEquals(waits.slice(0, -1), [1, 2, 4, 8, 16, 32, 64]);
});

Deno.test("notice: one sent without an answer stays unknown and is never pending again", () => {
  const sending: Notice = { ...claimed(NOTICE, NOVEMBER), state: "sending" };
  assertEquals(claimed(sending, NOVEMBER).state, "unknown");
  assertEquals(attempted(sending, { kind: "unknown", error: "lost" }, NOVEMBER).state, "unknown");
  assert(NOTICE_SEND_MS_MAX < NOTICE_LEASE_MS, "a try may outlive what it holds");
});
