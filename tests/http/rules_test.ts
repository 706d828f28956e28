/** Alert rules and silences: set, read, list, delete, and their audit entries. */
import { assert, assertEquals } from "@std/assert";
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

function put(h: Harness, path: string, body: unknown, key = h.key): Promise<Answer> {
  return h.request("PUT", `/v1/${path}`, { key, body });
}

async function auditOf(h: Harness): Promise<unknown[][]> {
  const { entries } = (await h.get("/v1/audit")).json;
  return entries
    .filter(({ action }: { action: string }) => /^(rule|silence)\./.test(action))
    .map(({ action, target, details }: Record<string, unknown>) => [action, target, details]);
}

Harness.test("rules: 202 for a new version, 200 when nothing differs, 409 for another version", async (h) => {
  const first = await put(h, "rules/dear.runs", RULE);
  assertEquals([first.status, first.headers.get("idempotent-replayed")], [202, null]);
  const {
    slug,
    id,
    version,
    default: isDefault,
    overflow,
    created_at,
    updated_at,
    updated_by,
    ...rest
  } = first.json;
  assertEquals([slug, version, isDefault, overflow], ["dear.runs", 1, false, null]);
  assertEquals([created_at, updated_at], [at(), at()]);
  assert(/^rul_eu_[0-9a-f]{32}$/.test(id) && updated_by.startsWith("key_eu_"), first.text);
  assertEquals(rest, RULE);
  h.nowMs += 1_000;
  const again = await put(h, "rules/dear.runs", { ...rest, version: 1 });
  assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, "true"]);
  assertEquals(again.text, first.text);
  const next = await put(h, "rules/dear.runs", { kind: "run_cost", params: { usd: "0.10" } });
  assertEquals([next.status, next.json.version, next.json.id], [202, 2, id]);
  assertEquals([next.json.params, next.json.group_by, next.json.severity], [
    { usd: 0.1, runs: "root" },
    null,
    "warning",
  ]);
  assertEquals([next.json.created_at, next.json.updated_at], [at(), at(1_000)]);
  const late = await put(h, "rules/dear.runs", { ...RULE, version: 1 });
  assertEquals([late.status, late.json.error, late.json.field], [
    409,
    "version_conflict",
    "version",
  ]);
  assertEquals((await h.get("/v1/rules/dear.runs")).text, next.text);
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

Harness.test("silences: stored, listed, shortened and deleted", async (h) => {
  const match = { rules: ["failures"], agents: ["nightly*"], customers: [] };
  const first = await put(h, "silences/night", { match, until: at(3_600_000) });
  assertEquals([first.status, first.json.match, first.json.from, first.json.until], [
    202,
    match,
    at(),
    at(3_600_000),
  ]);
  h.nowMs += 1_000;
  const again = await put(h, "silences/night", { match, until: at(3_600_000) });
  assertEquals([again.status, again.text], [200, first.text], "it keeps its begin");
  const next = await put(h, "silences/night", { match, until: at(60_000), comment: "short" });
  assertEquals([next.status, next.json.version, next.json.comment], [202, 2, "short"]);
  assertEquals((await h.get("/v1/silences")).json, { silences: [next.json], cursor: null });
  assertEquals((await h.request("DELETE", "/v1/silences/night")).json, next.json);
  assertEquals((await h.get("/v1/silences/night")).status, 404);
});

Harness.test("rules and silences: another team sees none of them, and the audit log has each change", async (h) => {
  const { key: other } = await h.addTeam("business");
  await put(h, "rules/mine", RULE);
  await put(h, "silences/mine", { match: {}, until: at(60_000) });
  for (const path of ["rules/mine", "silences/mine"]) {
    assertEquals((await h.get(`/v1/${path}`, { key: other })).status, 404);
    assertEquals((await h.request("DELETE", `/v1/${path}`, { key: other })).status, 404);
  }
  await put(h, "rules/mine", { ...RULE, enabled: false });
  await h.request("DELETE", "/v1/rules/mine");
  const { slug: _, ...silence } = { slug: "", match: { rules: [], agents: [], customers: [] } };
  assertEquals((await auditOf(h)).reverse(), [
    ["rule.put", "mine", { before: null, after: RULE }],
    ["silence.put", "mine", {
      before: null,
      after: { ...silence, from: at(), until: at(60_000), comment: null },
    }],
    ["rule.put", "mine", { before: { enabled: true }, after: { enabled: false } }],
    ["rule.deleted", "mine", { before: { ...RULE, enabled: false }, after: null }],
  ]);
});
