/** Forms with an error, of what exists already, and of what has changed since. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { changed, fieldsOf, signedIn, textOf } from "../support/harness/dashboard.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";

/** A form: where it is sent, fields that would be accepted, and changes that are not. */
interface Form {
  readonly path: string;
  /** The page whose other fields are sent as they are. */
  readonly page?: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly wrong: readonly (readonly [field: string, changes: Readonly<Record<string, string>>])[];
  /** The page that changes what was stored, and a change. */
  readonly edit?: readonly [page: string, changes: Readonly<Record<string, string>>];
  readonly role?: "operator";
}

const RULES = "/dashboard/alerts/rules", CHANNELS = "/dashboard/alerts/channels";
const CHECKS = "/dashboard/checks", SPEND = "/dashboard/spend", TEAMS = "/dashboard/teams";
const EVERY = { kind: "every", every_seconds: "1h" }, CRON = { kind: "cron", cron: "0 2 * * *" };

const FORMS: Readonly<Record<string, Form>> = {
  "an agent": {
    path: "/dashboard/agents/a",
    fields: { name: "ok", notes: "" },
    wrong: [["notes", { notes: "x".repeat(2_001) }], ["name", { name: " a" }]],
  },
  "a monitor": {
    path: "/dashboard/agents/a/monitor",
    fields: EVERY,
    wrong: [
      ["every_seconds", { every_seconds: "soon" }],
      ["every_seconds", { every_seconds: "5s" }],
      ["every_seconds", { every_seconds: "" }],
      ["cron", { ...CRON, cron: "" }],
      ["cron", { ...CRON, cron: "61 * * * *" }],
      ["tz", { ...CRON, tz: "Mars/Olympus" }],
      ["grace_seconds", { grace_seconds: "much" }],
      ["max_runtime_seconds", { max_runtime_seconds: "1s" }],
      ["failure_threshold", { failure_threshold: "40" }],
      ["recovery_threshold", { recovery_threshold: "x" }],
    ],
  },
  "a price": {
    path: "/dashboard/rate-card",
    fields: { model: "atlas", input_usd_per_million: "2.50", output_usd_per_million: "10" },
    wrong: [
      ...["2,50", "-1", "0.1234567", "1.0000000000000000001", "1e3", "1000001"].map((usd) =>
        ["input_usd_per_million", { input_usd_per_million: usd }] as const
      ),
      ["output_usd_per_million", { output_usd_per_million: "" }],
      ["cache_write_usd_per_million", { cache_write_usd_per_million: "free" }],
      ["model", { model: "" }],
      ["effective_from", { effective_from: "next week" }],
      ...[["above_input_tokens", "1.5"], ["output_usd_per_million", "dear"]].map((
        [field = "", value = ""],
      ) =>
        [`tiers[0].${field}`, {
          "tiers[0].above_input_tokens": "1",
          "tiers[0].input_usd_per_million": "1",
          "tiers[0].output_usd_per_million": "1",
          [`tiers[0].${field}`]: value,
        }] as const
      ),
    ],
  },
  "repricing": {
    path: "/dashboard/rate-card/reprice",
    fields: { model: "gpt-4o", from: "2026-11-01", to: "2026-11-02" },
    wrong: [["to", { from: "2026-11-02", to: "2026-11-01" }], ["model", { model: "" }]],
  },
  "a key": {
    path: "/dashboard/keys",
    fields: { kind: "api_key", name: "x", scopes: "read" },
    wrong: [
      ["name", { name: " x <u>" }],
      ["name", { name: "" }],
      ["scopes", { scopes: "root" }],
      ["agent", { kind: "ping_token", agent: "" }],
    ],
  },
  "a rotation": {
    path: "/dashboard/keys/{key}/rotate",
    fields: { overlap_hours: "1" },
    wrong: ["-1", "169", "1.5", "x"].map((hours) =>
      ["overlap_hours", { overlap_hours: hours }] as const
    ),
  },
  "a rule": {
    path: RULES,
    page: `${RULES}/new/rule?kind=run_cost`,
    fields: { slug: "mine", usd: "2" },
    edit: [`${RULES}/mine`, { severity: "critical" }],
    wrong: [
      ["usd", { usd: "much" }],
      ["slug", { slug: "Not a slug" }],
      ["renotify_seconds", { renotify_seconds: "soon" }],
      ["renotify_seconds", { renotify_seconds: "10s" }],
      ["resolve_after", { resolve_after: "99" }],
    ],
  },
  "a silence": {
    path: "/dashboard/alerts/silences",
    fields: { version: "0", slug: "x", lasts: "2h" },
    wrong: [
      ["slug", { slug: "" }],
      ["lasts", { lasts: "2 hours" }],
      ["lasts", { lasts: "60d" }],
      ["from", { from: "tomorrow" }],
    ],
  },
  "a channel": {
    path: CHANNELS,
    page: `${CHANNELS}/new/channel?type=webhook`,
    fields: { slug: "ops", url: "https://hooks.example.com/services" },
    edit: [`${CHANNELS}/ops`, { events: "incident.opened" }],
    wrong: [
      ["slug", { slug: "" }],
      ["url", { url: "not an address" }],
      ["url", { url: "http://127.0.0.1/" }],
      ["headers", { headers: "Host: other" }],
    ],
  },
  "a check": {
    path: CHECKS,
    page: `${CHECKS}/new/check`,
    fields: { slug: "mine", expression: "cost_usd < 0.50" },
    edit: [`${CHECKS}/mine/edit`, { expression: "cost_usd > 0.75" }],
    wrong: [
      ["slug", { slug: "Not a slug" }],
      ["sample", { sample: "2" }],
      ["sample", { sample: "half" }],
      ["description", { description: "x".repeat(501) }],
      ["expression", { expression: "cost_us < 0.5" }],
    ],
  },
  "a budget": {
    path: `${SPEND}/budgets`,
    page: `${SPEND}/budgets/new/budget`,
    fields: { slug: "mine", limit_usd: "1" },
    edit: [`${SPEND}/budgets/mine`, { limit_usd: "2" }],
    wrong: [
      ["limit_usd", { limit_usd: "much" }],
      ["warn_at", { warn_at: "2" }],
      ["feature", { agent: "a", feature: "b" }],
      ["agent", { period: "run", feature: "b" }],
    ],
  },
  "a pause": {
    path: `${SPEND}/pauses`,
    page: `${SPEND}/pauses/new/pause`,
    fields: { slug: "quiet", customer_id: "acme", reason: "Unpaid", lasts: "2h" },
    wrong: [["lasts", { lasts: "soon" }], ["reason", { reason: " " }]],
  },
  "a new team": {
    path: TEAMS,
    role: "operator",
    fields: { name: "x", tier: "team" },
    wrong: [["name", { name: "" }], ["owner_email", { owner_email: "nobody" }]],
  },
};

for (const [name, form] of Object.entries(FORMS)) {
  operator.test(`the form of ${name} shows an error at its field, keeps what was typed, and stores nothing`, async (h) => {
    await h.post("/v1/heartbeats", { agent: "a" });
    await h.worker.idle();
    const reader = await signedIn(h, form.role === "operator" ? OPERATOR_KEY : h.key);
    const path = form.path.replace("{key}", (await h.get("/v1/keys")).json.keys[0].id);
    const filled = async (page: string, changes: Readonly<Record<string, string>>) =>
      changed(fieldsOf((await reader.get(page)).text, path), changes);
    const fields = form.page === undefined ? form.fields : await filled(form.page, form.fields);
    const before = await h.dump();
    for (const [field, changes] of form.wrong) {
      const says = JSON.stringify(changes);
      const { status, text } = await reader.send(path, changed(fields, changes));
      assertEquals(status, 400, says);
      const problems = [...text.matchAll(/<small id="([^"]+)-problem" class="wrong">(?!<)/g)];
      assertEquals(problems.map(([, at]) => at), [field], says);
      assertMatch(text, new RegExp(`aria-describedby="${RegExp.escape(field)}-problem`), says);
      const typed = textOf(text.replaceAll(/value="([^"]*)"/g, " >$1< "));
      for (const value of Object.values(changes)) assert(typed.includes(value.trim()), says);
      assert(!text.includes("<u>"), "text is text");
    }
    assertEquals(await h.dump(), before);
    const { status, text } = await reader.send(path, fields);
    assert(status < 400, textOf(text));
    if (form.edit === undefined) return;
    assertEquals((await reader.send(path, fields)).status, 409, "it replaces no other");
    const stale = await filled(...form.edit);
    assertEquals((await reader.send(path, stale)).status, 303);
    const refused = await reader.send(path, changed(stale, form.fields));
    assertEquals(refused.status, 409);
    assertMatch(textOf(refused.text), /Cannot change version 1: the current version is 2/);
  });
}
