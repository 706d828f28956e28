/** Alert rules, their defaults, and silences. */
import { assertEquals } from "@std/assert";
import { at } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const RULE = {
  kind: "run_failed",
  params: { statuses: ["failed", "timeout"], consecutive: 3, runs: "root" },
  match: { agents: ["*"], customers: [], features: [] },
  group_by: "agent",
  severity: "critical",
  resolve_after: 1,
  renotify_seconds: 86_400,
  channels: ["ops"],
  enabled: true,
};
const DEFAULTS = ["budgets", "failures", "missed", "quota", "service", "stuck", "unpriced"];

function put(h: Harness, path: string, body: unknown): Promise<Answer> {
  return h.request("PUT", `/v1/${path}`, { body });
}

Harness.test("rules: each setting is stored as sent, and what is not sent has a default", async (h) => {
  const { json } = await put(h, "rules/dear.runs", RULE);
  assertEquals(json, { ...json, ...RULE, default: false, overflow: null });
  const other =
    (await put(h, "rules/dear.runs", { kind: "run_cost", params: { usd: "0.10" } })).json;
  const { params, group_by, severity } = other;
  assertEquals([params, group_by, severity], [{ usd: 0.1, runs: "root" }, null, "warning"]);
});

Harness.test("rules: the default ones are listed, replaced, deleted and brought back", async (h) => {
  const slugs = async (query = "") =>
    (await h.get(`/v1/rules${query}`)).json.rules.map(({ slug }: { slug: string }) => slug);
  assertEquals(await slugs(), DEFAULTS);
  const failures = (await h.get("/v1/rules/failures")).json;
  assertEquals([failures.default, failures.version, failures.id, failures.updated_at], [
    true,
    0,
    null,
    null,
  ]);
  assertEquals((await h.request("DELETE", "/v1/rules/failures")).status, 200);
  assertEquals((await h.request("DELETE", "/v1/rules/failures")).status, 404);
  assertEquals((await h.get("/v1/rules/failures")).status, 404);
  assertEquals(await slugs(), DEFAULTS.filter((slug) => slug !== "failures"));
  const back = await put(h, "rules/failures", RULE);
  assertEquals([back.status, back.json.default], [202, false]);
  const first = (await h.get("/v1/rules?limit=4")).json;
  assertEquals(first.rules.map(({ slug }: { slug: string }) => slug), DEFAULTS.slice(0, 4));
  assertEquals(await slugs(`?limit=4&cursor=${first.cursor}`), DEFAULTS.slice(4));
});

Harness.test("silences: one begins when it is first stored, and is shortened", async (h) => {
  const match = { rules: ["failures"], agents: ["nightly*"], customers: [] };
  const first = (await put(h, "silences/night", { match, until: at(3_600_000) })).json;
  assertEquals([first.match, first.from, first.until], [match, at(), at(3_600_000)]);
  h.nowMs += 1_000;
  const shorter = (await put(h, "silences/night", { match, until: at(60_000) })).json;
  assertEquals([shorter.from, shorter.until], [at(), at(60_000)]);
});
