/** The usage page: a month against the plan. */
import { fixture } from "../support/harness/fixture.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Team } from "../../domain/teams/team.ts";
import { newNotice, type NoticeState } from "../../domain/teams/quota.ts";
import { keys } from "../../kv/base/keys.ts";
import { signedIn, textOf } from "../support/harness/dashboard.ts";
import type { Harness } from "../support/harness/harness.ts";
import { openWithOperator } from "../support/harness/operator.ts";

const PAGE = "/dashboard/plan";

/** Counts events for a team. */
async function count(h: Harness, month: string, by: number, team: Team = h.team): Promise<void> {
  const sums = [{ key: keys.usage(team.id, month), by: BigInt(by) }];
  await h.store.writer.commit({ team: team.id, sums });
}

/** Declares tests of a service whose first team is on the smallest plan. */
const freePlan = { test: fixture(() => openWithOperator({ tier: "free" })) };

freePlan.test("a month is compared with the plan, with its state and its projection", async (h) => {
  h.nowMs = Date.UTC(2026, 10, 16);
  const reader = await signedIn(h);
  const cases = [
    [0, /^0 of 100,000 events: 0% .* ✓ Within the plan .* about 0 events/],
    [79_999, /^79,999 of 100,000 events: 80% .* ✓ Within the plan/],
    [
      1,
      /^80,000 of 100,000 events: 80% .* ▲ Heads-up .* about 160,000 events \(160% of the plan\)/,
    ],
    [20_000, /^100,000 of 100,000 events: 100% .* ✕ Over the plan : Nothing is cut off/],
    [20_000, /^120,000 of 100,000 events: 120% .* ✕ Over the plan/],
  ] as const;
  for (const [by, words] of cases) {
    if (by > 0) await count(h, "2026-11", by);
    const { status, text } = await reader.get(PAGE);
    assertEquals(status, 200);
    const month = textOf(text.slice(text.indexOf('<p class="month-use">')));
    assertMatch(month, words);
    assertMatch(month, /Usage resets in 15 days , on Dec 1 at 00:00 UTC/);
  }
});

freePlan.test("the bar has a title with its numbers, and marks at 80% and 100%", async (h) => {
  h.nowMs = Date.UTC(2026, 10, 16);
  await count(h, "2026-11", 50_000);
  const { text } = await (await signedIn(h)).get(PAGE);
  assertMatch(
    text,
    /<svg[^>]* role="img"[^>]*><title>50,000 of 100,000 events used \(50%\), heading for about 100,000; marks at 80% and 100%/,
  );
  const width = (name: string) =>
    Number(new RegExp(`class="${name}"[^>]* width="([\\d.]+)%"`).exec(text)?.[1]);
  const marks = [...text.matchAll(/class="mark" x1="([\d.]+)%"/g)].map(([, x]) => Number(x));
  assertEquals(marks.length, 2);
  assert(Math.abs(width("projected") - 2 * width("quota normal")) < 0.1);
  assert(Math.abs((marks[1] ?? 0) - width("projected")) < 0.1);
  assert(Math.abs((marks[0] ?? 0) - 0.8 * width("projected")) < 0.1);
});

Deno.test("an unlimited plan has no bar and no state, but still counts events", async () => {
  await using h = await openWithOperator({ tier: "enterprise" });
  await count(h, "2026-11", 123_456_789);
  const { text } = await (await signedIn(h)).get(PAGE);
  assert(!text.includes('role="img"') && !text.includes("Notices"));
  assertMatch(textOf(text), /123,456,789 events; the plan has no limit/);
  assert(!/Within the plan|% of the plan/.test(textOf(text)));
  assertMatch(textOf(text), /Requests a second without limit .* Records kept for ever/);
});

freePlan.test("a past month is shown if the query names it, without a projection", async (h) => {
  await count(h, "2026-11", 7);
  await count(h, "2026-09", 90_000);
  const reader = await signedIn(h);
  const now = await reader.get(PAGE);
  assertStringIncludes(now.text, `href="${PAGE}?month=2026-09"`);
  const { text } = await reader.get(`${PAGE}?month=2026-09`);
  const content = textOf(text);
  assertMatch(
    content,
    /This month Usage in Sep 2026 90,000 of 100,000 events: 90% .* This month is over/,
  );
  assert(!content.includes("present pace"));
  for (const month of ["2026-12", "2026-13", "<b>x</b>"]) {
    const refused = await reader.get(`${PAGE}?${new URLSearchParams({ month })}`);
    assertEquals(refused.status, 400, month);
    assert(!refused.text.includes("<b>x</b>"));
    assertMatch(textOf(refused.text), /Parameter "month" must be a month such as 2026-11/);
  }
});

freePlan.test("a notice shows its delivery state", async (h) => {
  const states: Record<NoticeState, RegExp> = {
    logged: /80% reached: written to the service's log/,
    pending: /80% reached: about to be sent/,
    sending: /80% reached: being sent/,
    sent: /80% reached: sent by e-mail, 1 h ago/,
    unknown: /80% reached: given to the mail server, which has not confirmed it/,
    dead: /80% reached: not sent/,
  };
  const reader = await signedIn(h);
  assertMatch(await reader.words(PAGE), /None in this month/);
  const name = { team: h.team.id, month: "2026-11", percent: 80 } as const;
  const facts = { teamName: "T", month: name.month, percent: 80, used: 1, included: 1 } as const;
  for (const [state, words] of Object.entries(states)) {
    const sentAt = state === "sent" ? h.nowMs - 3_600_000 : null;
    const value = { ...newNotice(name, facts, true, h.nowMs), state, sentAt };
    const key = keys.notice(name);
    await h.store.writer.commit({ team: name.team, sets: [{ key, value }] });
    assertMatch(await reader.words(PAGE), words);
  }
});

freePlan.test("the plan is shown with the team's own rate and limits instead of the plan's", async (h) => {
  const free = textOf((await (await signedIn(h)).get(PAGE)).text);
  assertMatch(
    free,
    /Requests a second 100 sustained, 200 in a burst to send runs; .* Agents 10, .* none is kept .* Plan free/,
  );
  assertMatch(free, /Events, outputs kept 7 days Records kept 30 days/);
  const { team, key } = await h.addTeam("enterprise");
  const rate = { sustained: 1_234, burst: 5_678 };
  const value = { ...team, rate, limits: { eventsPerMonth: 77_000, payloadDays: 3 } };
  await h.store.writer.commit({ team: team.id, sets: [{ key: keys.team(team.id), value }] });
  const own = textOf((await (await signedIn(h, key)).get(PAGE)).text);
  assertMatch(
    own,
    /Events a month 77,000; .* 1,234 sustained, 5,678 in a burst to send runs; .* Agents without limit/,
  );
  assertMatch(own, /Events, outputs kept 3 days Records kept for ever/);
});
