/** Endpoints of alert rules. */
import type { RuleSettings } from "../../../domain/alerts/rule.ts";
import { parseRule, ruleBody } from "../../../domain/alerts/rule_body.ts";
import { objectEndpoints } from "../config/objects.ts";
import { type RuleRow, ruleValue } from "./rule_json.ts";

const SENT = {
  kind: "run_cost",
  params: { usd: 0.001 },
  match: { agents: ["research*"], customers: [], features: [] },
  group_by: "agent",
  severity: "warning",
  resolve_after: 1,
  renotify_seconds: 86_400,
  channels: ["ops"],
};

const RULE = {
  slug: "costly-runs",
  id: "rul_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0005",
  version: 1,
  default: false,
  ...SENT,
  enabled: true,
  overflow: null,
  created_at: "2026-11-21T12:00:00.000Z",
  updated_at: "2026-11-21T12:00:00.000Z",
  updated_by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
};

/** Endpoints of `/v1/rules`. */
export const RULE_ENDPOINTS = objectEndpoints<RuleSettings, RuleSettings, RuleRow>({
  tag: "Alerts",
  kind: "rule",
  name: "Rule",
  storeOf: ({ rules }) => rules,
  parse: parseRule,
  rowsOf: async ({ rules }, team, objects) => {
    const overflows = await rules.overflows(team);
    return objects.map((rule) => ({ ...rule, overflow: overflows.get(rule.slug) ?? null }));
  },
  body: ruleBody.meta({ id: "RuleRequest" }),
  value: ruleValue,
  texts: {
    put: "Creates a rule that opens incidents, or replaces it: its incidents are then resolved.",
    list: "Lists rules by slug, with the default rules that are neither replaced nor deleted.",
    remove: "Deletes a rule and resolves its incidents. A default rule stays deleted until a PUT " +
      "of its slug.",
  },
  // The default rules follow.
  example: { slug: RULE.slug, sent: SENT, answer: RULE, hasMore: true },
});
