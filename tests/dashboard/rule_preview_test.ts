/** Previews of rules: the form says how many incidents its rule would have opened. */
import { assertEquals, assertMatch } from "@std/assert";
import { PREVIEW } from "../../domain/alerts/preview.ts";
import { RULES } from "../../domain/alerts/rule_body.ts";
import { createRulePreviews } from "../../kv/alerts/preview.ts";
import { createSpendStore } from "../../kv/spend/rollups.ts";
import {
  fieldsOf,
  type FormFields,
  session,
  signedIn,
  textOf,
} from "../support/harness/dashboard.ts";
import { aHeartbeat, aRun } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";

const NEW = "/dashboard/alerts/rules/new/rule";
const RULES_PATH = "/dashboard/alerts/rules";
const DAY = 86_400_000;

/** Rules about runs, each with the fields of its form. */
const BODIES = {
  run_failed: {
    body: { params: { statuses: ["failed"], consecutive: 2 }, group_by: "agent" },
    fields: { statuses: "failed", consecutive: "2", group_by: "agent" },
  },
  check_failed: {
    body: { params: { checks: ["good"], consecutive: 1 }, group_by: "customer", resolve_after: 2 },
    fields: { checks: "good", consecutive: "1", group_by: "customer", resolve_after: "2" },
  },
  run_cost: {
    body: { params: { usd: 2 }, match: { agents: ["a*"] } },
    fields: { usd: "2", agents: "a*", group_by: "" },
  },
} as const;

/** Numbers that look random, the same each time. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed;;) {
    state = Math.imul(state, 1_664_525) + 1_013_904_223 | 0;
    yield (state >>> 8) / 2 ** 24;
  }
}

async function preview(h: Harness, kind: string, fields: Record<string, string>): Promise<string> {
  const reader = await signedIn(h);
  const { text } = await reader.get(`${NEW}?kind=${kind}`);
  const kept = fieldsOf(text, RULES_PATH).filter(([name]) => !(name in fields));
  const sent: FormFields = [...kept, ...Object.entries(fields)];
  const { status, text: page } = await reader.send(`${NEW}/trial`, sent);
  assertEquals(status, 200, textOf(page));
  const [, shown = ""] = /<div id="trial" role="status">(.*?)<\/div>/s.exec(page) ?? [];
  return textOf(shown);
}

Harness.test("previews: a rule would have opened what the same rule has opened", async (h) => {
  await h.request("PUT", "/v1/checks/good", { body: { expression: 'status == "success"' } });
  for (const [kind, { body }] of Object.entries(BODIES)) {
    const { status } = await h.request("PUT", `/v1/rules/${kind}`, { body: { kind, ...body } });
    assertEquals(status, 202);
  }
  const random = numbers(7);
  const pick = <T>(...items: T[]): T => items[Math.floor(random.next().value * items.length)]!;
  for (let n = 1; n <= 45; n++) {
    h.nowMs += pick(60_000, 3_600_000);
    const labels = { agent: pick("a1", "a2", "b1"), customer_id: pick("acme", "globex") };
    const status = pick("ok", "fail", "timeout", "ok");
    const cost_usd = pick(0.5, 1, 2.5);
    const sent = await h.post("/v1/heartbeats", aHeartbeat(n, { ...labels, status, cost_usd }));
    assertEquals(sent.status, 202, sent.text);
    await h.worker.idle();
  }
  await h.worker.idle();
  await h.work.idle();
  const before = await h.dump();
  for (const [kind, { fields }] of Object.entries(BODIES)) {
    const { incidents } = (await h.get(`/v1/incidents?rule=${kind}&limit=500`)).json;
    const [, opened] = /opened (\d+) incidents? in the last 14 days/
      .exec(await preview(h, kind, fields)) ?? [];
    assertEquals(`${kind} ${opened}`, `${kind} ${incidents.length}`);
  }
  assertEquals((await h.dump()).filter((row) => !isOfSession(row)), before, "it stores nothing");
});

function isOfSession(row: unknown): boolean {
  return JSON.stringify(row).includes("session");
}

Harness.test("previews: spend counts groups and periods, and stuck runs count until they are closed", async (h) => {
  const spend = (usd: string, period: string) =>
    preview(h, "spend", { usd, period, group_by: "agent" });
  for (let day = 0; day < 3; day++) {
    h.nowMs = NOON + day * DAY;
    const labels = { agent: "a", cost_usd: 3 };
    await h.post("/v1/heartbeats", aHeartbeat(2 * day + 1, labels));
    await h.post("/v1/heartbeats", aHeartbeat(2 * day + 2, { ...labels, agent: "b", cost_usd: 1 }));
  }
  await h.post("/v1/runs", aRun(100, { agent: "a", started_at: new Date(h.nowMs).toISOString() }));
  await h.worker.idle();
  h.nowMs += 3 * 3_600_000;
  assertMatch(await spend("3", "day"), /opened 3 incidents/);
  assertMatch(await spend("9", "month"), /opened 1 incident in/);
  assertMatch(await spend("9.5", "month"), /opened no incident/);
  assertMatch(await preview(h, "stuck", { seconds: "2h" }), /opened 1 incident in/);
  assertMatch(await preview(h, "stuck", { seconds: "4h" }), /opened no incident/);
  // Each mark opens one: two of agent a on three days, one of the team in the month.
  for (
    const [slug, budget] of Object.entries({
      each: { scope: { each: "agent" }, period: "day", limit_usd: 2, warn_at: [0.9] },
      team: { scope: {}, period: "month", limit_usd: 15, warn_at: [0.6] },
      off: { scope: {}, period: "day", limit_usd: 1, enabled: false },
      run: { scope: {}, period: "run", limit_usd: 1 },
    })
  ) {
    assertEquals((await h.request("PUT", `/v1/budgets/${slug}`, { body: budget })).status, 202);
  }
  assertMatch(await preview(h, "budget", {}), /opened 7 incidents/);
  assertMatch(await preview(h, "budget", { budgets: "team" }), /opened 1 incident in/);
  assertMatch(await preview(h, "quota", { percents: "80" }), /kind have no preview/);
});

Harness.test("previews: one that takes too long is cut and says so", async (h) => {
  for (let n = 1; n <= 205; n++) {
    await h.post("/v1/heartbeats", aHeartbeat(n, { status: "fail" }));
  }
  await h.worker.idle();
  const { store } = h;
  const parsed = RULES.parse({ kind: "run_failed", params: {} }, NOON);
  const previewAt = (msMax: number) =>
    createRulePreviews({ store, spend: createSpendStore(store), now: () => h.nowMs, msMax })
      .preview(h.team, parsed.settings);
  const cut = await previewAt(0);
  assertEquals([cut?.opened, cut?.isCut], [1, true]);
  const whole = await previewAt(PREVIEW.msMax * 100);
  assertEquals([whole?.opened, whole?.isCut], [1, false]);
});

session.test("previews: what is wrong is said at its field", async ({ reader }) => {
  const { text } = await reader.get(`${NEW}?kind=run_cost`);
  const { status, text: page } = await reader.send(`${NEW}/trial`, [
    ...fieldsOf(text, RULES_PATH).filter(([name]) => name !== "usd"),
    ["usd", "much"],
  ]);
  assertEquals(status, 400);
  assertMatch(page, /<small id="usd-problem" class="wrong">/);
});
