/** `GET /v1/usage`, and that a quota never refuses a call. */
import { assertEquals } from "@std/assert";
import type { Team } from "../../domain/teams/team.ts";
import { newNotice, type NoticeState } from "../../domain/teams/quota.ts";
import { noticeSets } from "../../kv/teams/quota_work.ts";
import { keys } from "../../kv/base/keys.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { freeTeam, Harness } from "../support/harness/harness.ts";

/** Counts events for a team, like the calls of a month. */
async function count(h: Harness, month: string, by: number, team: Team = h.team): Promise<void> {
  const sums = [{ key: keys.usage(team.id, month), by: BigInt(by) }];
  await h.store.writer.commit({ team: team.id, sums });
}

freeTeam.test("GET /v1/usage: an unused month has every field", async (h) => {
  const answer = await h.get("/v1/usage");
  assertEquals([answer.status, answer.headers.get("content-type")], [200, "application/json"]);
  assertEquals(answer.json, {
    month: "2026-11",
    used: 0,
    included: 100_000,
    ratio: 0,
    state: "normal",
    projected: 0,
    resets_at: "2026-12-01T00:00:00.000Z",
    notices: [],
    months: [],
  });
});

freeTeam.test("GET /v1/usage: the state changes at exactly 80 % and 100 %, and the pace is reported", async (h) => {
  h.nowMs = Date.UTC(2026, 10, 16);
  for (
    const [by, used, state, ratio] of [
      [79_999, 79_999, "normal", 0.79999],
      [1, 80_000, "heads_up", 0.8],
      [19_999, 99_999, "heads_up", 0.99999],
      [1, 100_000, "over", 1],
      [50_000, 150_000, "over", 1.5],
    ] as const
  ) {
    await count(h, "2026-11", by);
    const { json } = await h.get("/v1/usage");
    assertEquals([json.used, json.state, json.ratio], [used, state, ratio]);
    assertEquals(json.projected, 2 * used);
    assertEquals(json.months, [{ month: "2026-11", used, state }]);
  }
});

Harness.test("GET /v1/usage: each plan has its own included events, Enterprise has no limit", async (h) => {
  const plans = {
    free: 100_000,
    starter: 2_000_000,
    team: 10_000_000,
    business: 25_000_000,
    enterprise: null,
  };
  for (const [tier, included] of Object.entries(plans)) {
    const { team, key } = await h.addTeam(tier as keyof typeof plans);
    await count(h, "2026-11", 25_000_000, team);
    const { json } = await h.get("/v1/usage", { key });
    assertEquals([json.included, json.state], [included, included === null ? "normal" : "over"]);
    assertEquals(json.ratio, included === null ? null : 25_000_000 / included);
  }
});

freeTeam.test("GET /v1/usage: the count resets with the month, in leap years and at new year", async (h) => {
  let n = 0;
  for (
    const [lastMs, month, next, resets] of [
      [Date.UTC(2024, 2, 1) - 1, "2024-02", "2024-03", "2024-03-01T00:00:00.000Z"],
      [Date.UTC(2026, 2, 1) - 1, "2026-02", "2026-03", "2026-03-01T00:00:00.000Z"],
      [Date.UTC(2027, 0, 1) - 1, "2026-12", "2027-01", "2027-01-01T00:00:00.000Z"],
    ] as const
  ) {
    h.nowMs = lastMs;
    assertEquals((await h.post("/v1/heartbeats", aHeartbeat(n++))).status, 202);
    await count(h, month, 99_999);
    const before = (await h.get("/v1/usage")).json;
    assertEquals([before.month, before.used, before.state], [month, 100_000, "over"]);
    assertEquals([before.resets_at, before.projected], [resets, 100_000]);
    h.nowMs++;
    const after = (await h.get("/v1/usage")).json;
    assertEquals([after.month, after.used, after.state], [next, 0, "normal"]);
    const past = (await h.get(`/v1/usage?month=${month}`)).json;
    assertEquals([past.month, past.used, past.state], [month, 100_000, "over"]);
    assertEquals([past.resets_at, past.projected], [resets, 100_000]);
  }
});

freeTeam.test("GET /v1/usage: the last twelve months with usage are listed, latest first", async (h) => {
  const months = Array.from({ length: 14 }, (_, n) =>
    `${2025 + Math.floor((n + 8) / 12)}-` +
    `${(n + 8) % 12 + 1}`.padStart(2, "0"));
  for (const [n, month] of months.entries()) await count(h, month, 90_000 - 2_000 * n);
  const { json } = await h.get("/v1/usage?month=2026-01");
  assertEquals(
    json.months.map(({ month }: { month: string }) => month),
    months.toReversed().slice(0, 12),
  );
  assertEquals(json.months.at(-1), { month: "2025-11", used: 86_000, state: "heads_up" });
  assertEquals(json.months[0], { month: "2026-10", used: 64_000, state: "normal" });
});

freeTeam.test("GET /v1/usage: notices are listed with their time, if they were sent", async (h) => {
  const name = { team: h.team.id, month: "2026-11" } as const;
  const facts = { teamName: "t", month: "2026-11", used: 1, included: 1 };
  const states: [80 | 100, NoticeState, number | null][] = [
    [100, "unknown", null],
    [80, "sent", h.nowMs],
  ];
  for (const [percent, state, sentAt] of states) {
    const notice = newNotice({ ...name, percent }, { ...facts, percent }, true, h.nowMs);
    await h.store.writer.commit({ sets: noticeSets({ ...notice, state, sentAt }) });
  }
  assertEquals((await h.get("/v1/usage")).json.notices, [
    { threshold: 0.8, sent_at: "2026-11-21T12:00:00.000Z" },
    { threshold: 1, sent_at: null },
  ]);
  assertEquals((await h.get("/v1/usage?month=2026-10")).json.notices, []);
});

freeTeam.test("quota: calls are answered alike below 80 %, above it and far beyond 100 %", async (h) => {
  const answers: unknown[] = [];
  for (const [n, by] of [0, 80_000, 900_000].entries()) {
    await count(h, "2026-11", by);
    const id = runId(n);
    const calls = [
      await h.post("/v1/runs", aRun(n)),
      await h.post(`/v1/runs/${id}/events`, { events: [anEvent(1)] }),
      await h.post(`/v1/runs/${id}/finish`, aFinish()),
      await h.get("/v1/ping?agent=a"),
    ];
    answers.push(calls.map(({ status, headers, text }) => [
      status,
      [...headers.keys()].filter((name) => name !== "date"),
      text.replaceAll(/(run|evt)_\w+/g, "$1").replaceAll(id, ""),
    ]));
  }
  assertEquals(answers[1], answers[0]);
  assertEquals(answers[2], answers[0]);
  assertEquals((await h.get("/v1/usage")).json.used, 980_012);
});
