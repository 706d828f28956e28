/** Rules and silences on pages: in words, and as forms. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { RULE_KINDS } from "../../domain/alerts/rule.ts";
import {
  changed,
  fieldsOf,
  type FormFields,
  session,
  signedIn,
  textOf,
} from "../support/harness/dashboard.ts";
import { aHeartbeat } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";

const RULES = "/dashboard/alerts/rules";
const SILENCES = "/dashboard/alerts/silences";

/** Fields that a new rule of each kind needs, and its words in the list of rules. */
const NEW: Readonly<Record<typeof RULE_KINDS[number], readonly [Record<string, string>, RegExp]>> =
  {
    run_failed: [
      { statuses: "failed", agents: "nightly*, billing" },
      /3 failed runs in a row of one agent, only nightly\*, billing/,
    ],
    check_failed: [
      { checks: "cheap-enough, polite", severity_min: "fail", consecutive: "2", runs: "all" },
      /2 runs in a row of one agent fail cheap-enough or polite \(fail or higher\), child runs too/,
    ],
    run_cost: [{ usd: "2.50" }, /A run of one agent above \$2\.5/],
    spend: [
      { usd: "100", period: "week", group_by: "customer" },
      /\$100 or more of one customer in a week/,
    ],
    budget: [{ budgets: "acme, team" }, /The budget acme or team reaches a mark/],
    missed: [{ reasons: "overrun" }, /An agent is down: a run takes too long/],
    stuck: [{ seconds: "6h" }, /A run of one agent open for more than 6 h/],
    unpriced: [{}, /A call of a model without a price/],
    quota: [{ percents: "100" }, /100% of the month's events/],
    service: [{ what: "dead_stage" }, /A step of processing a finished run failed for good/],
  };

for (const kind of RULE_KINDS) {
  Deno.test(`rules: a rule of the kind ${kind} is created, and saving it unchanged changes nothing`, async () => {
    await using h = await Harness.open();
    const reader = await signedIn(h);
    const path = `/dashboard/alerts/rules/new/rule?kind=${kind}`;
    const { text: kinds } = await reader.get("/dashboard/alerts/rules/new/rule");
    const [, link = ""] = kinds.split(`href="${path}"`);
    assertMatch(link, /^>[^<]+<\/a><small class="under">[^<]+<\/small>/);
    const { text: form } = await reader.get(path);
    const [fields, words] = NEW[kind];
    const filled = changed(fieldsOf(form, RULES), {
      slug: "mine",
      renotify_seconds: "6h",
      ...fields,
    });
    const created = await reader.send(RULES, filled);
    assertEquals(created.status, 303, textOf(created.text));
    assertMatch(await reader.words(RULES), words);
    const before = (await h.get("/v1/rules/mine")).json;
    assertEquals([before.kind, before.version, before.renotify_seconds], [kind, 1, 21_600]);
    const { text: page } = await reader.get(`${RULES}/mine`);
    const saved = await reader.send(RULES, fieldsOf(page, RULES));
    assertEquals(saved.status, 303, textOf(saved.text));
    assertEquals((await h.get("/v1/rules/mine")).json, before);
  });
}

session.test("rules: a default rule is marked, changed, disabled and deleted", async ({ h, reader }) => {
  const list = async () => await reader.words(RULES);
  assertMatch(await list(), /failures default 3 failed or timed-out runs in a row of one agent/);
  const { text: page } = await reader.get(`${RULES}/failures`);
  const saved = await reader.send(RULES, changed(fieldsOf(page, RULES), { consecutive: "5" }));
  assertEquals(saved.status, 303, saved.text);
  assertMatch(await list(), /failures 5 failed or timed-out runs in a row of one agent/);
  await reader.send(`${RULES}/failures/enabled`, { enabled: "false" });
  assertMatch(await list(), /failures disabled/);
  assertEquals((await h.get("/v1/rules/failures")).json.params.consecutive, 5);
  assertMatch(await reader.words(`${RULES}/failures?confirm=delete`), /Delete the rule “failures”/);
  assertEquals((await reader.send(`${RULES}/failures/delete`)).status, 303);
  assertEquals((await h.get("/v1/rules/failures")).status, 404);
});

session.test("silences: one is created, ended and listed by its time", async ({ h, reader }) => {
  const list = async () => await reader.words(SILENCES);
  assertMatch(await list(), /No silence/);
  const create = (fields: FormFields) => reader.send(SILENCES, fields);
  const now = { slug: "upgrade", lasts: "2h", rules: "failures", agents: "billing" };
  assertEquals((await create({ ...now, comment: "new version" })).status, 303);
  const later = { slug: "weekend", from: "2026-11-28 00:00", lasts: "2d" };
  assertEquals((await create(later)).status, 303);
  assertMatch(
    await list(),
    /Current .*upgrade new version .*rule failures, agent billing.* Coming .*weekend .*all messages/,
  );
  const { text } = await reader.get(SILENCES);
  assertEquals(
    [...text.matchAll(/action="[^"]*silences\/([^"]+)"/g)].map(([, form]) => form),
    ["upgrade/end", "weekend/delete"],
  );
  assertEquals((await reader.send(`${SILENCES}/upgrade/end`)).status, 303);
  assertMatch(await list(), /Coming .*weekend .*Past .*upgrade/);
  assertEquals((await reader.send(`${SILENCES}/weekend/end`)).status, 303);
  assertEquals((await h.get("/v1/silences/weekend")).status, 200, "it has not begun");
  assertEquals((await reader.send(`${SILENCES}/weekend/delete`)).status, 303);
  assertEquals((await h.get("/v1/silences/weekend")).status, 404);
  assert(Date.parse((await h.get("/v1/silences/upgrade")).json.until) <= NOON);
});

session.test("rules, silences and checks: fields suggest the agents, customers, features and checks that are known", async ({ h, reader }) => {
  const labels = { agent: "billing", customer_id: "acme", feature: "refunds" };
  await h.post("/v1/heartbeats", aHeartbeat(1, labels));
  await h.request("PUT", "/v1/checks/cheap", { body: { expression: "cost_usd < 1" } });
  await h.worker.idle();
  const suggested = (html: string) =>
    [...html.matchAll(/<input[^>]*list="known-(\w+)"/g)].map(([, list = ""]) => {
      const [, options = ""] = new RegExp(`id="known-${list}">(.*?)</datalist>`).exec(html) ?? [];
      return [list, ...[...options.matchAll(/value="([^"]*)"/g)].map(([, value]) => value)];
    });
  const { agent, customer_id, feature } = labels;
  const agents = ["agents", agent], customers = ["customers", customer_id];
  const features = ["features", feature];
  for (
    const [path, lists] of [
      ["/dashboard/alerts/rules/new/rule?kind=run_failed", [agents, customers, features]],
      [
        "/dashboard/alerts/rules/new/rule?kind=check_failed",
        [["checks", "cheap"], agents, customers, features],
      ],
      ["/dashboard/alerts/silences/new/silence", [agents, customers]],
      ["/dashboard/alerts/history", [agents]],
      ["/dashboard/checks/new/check", [agents, features]],
    ] satisfies [string, string[][]][]
  ) {
    assertEquals(suggested((await reader.get(path)).text), lists, path);
  }
});
