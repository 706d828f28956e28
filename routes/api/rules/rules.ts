/** Endpoints of alert rules, and their JSON. */
import {
  GROUPS,
  type Rule,
  RULE_KINDS,
  type RuleOverflow,
  type RuleSettings,
} from "../../../domain/alerts/rule.ts";
import { parseRule, ruleBody, ruleFields } from "../../../domain/alerts/rule_body.ts";
import { ruleParams } from "../../../domain/alerts/rule_params.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { SLUG_FIELD, textsValue } from "../config/fields.ts";
import { objectEndpoints } from "../config/objects.ts";
import * as shape from "../../openapi/wire.ts";

/** A rule with what is shown of it in addition. */
interface RuleRow extends Rule {
  /** Groups that share one incident; null for none. */
  readonly overflow: RuleOverflow | null;
}

const params = shape.wire<RuleSettings>(
  ruleParams,
  (settings) => rawOf(ruleFields(settings)["params"]),
);

const match = shape.objectValue<RuleSettings["match"]>("RuleMatch", {
  agents: textsValue("agents"),
  customers: textsValue("customers"),
  features: textsValue("features"),
});

const overflow = shape.objectValue<RuleOverflow>("RuleOverflow", {
  since: shape.instantValue("since"),
  groups: shape.countValue("groups", "Outcomes of such groups since then."),
});

const severity = shape.oneOfValue("Severity", SEVERITIES);

/** A rule. */
const ruleValue = shape.objectValue<RuleRow>("Rule", {
  ...SLUG_FIELD,
  id: shape.idValue("rul").orNull("id", "Null for a default rule that was never changed."),
  version: shape.countValue("version", "Number of the version, from 1; 0 for such a default rule."),
  default: shape.booleanValue(({ id }) => id === null, "True for such a default rule."),
  kind: shape.oneOfValue("RuleKind", RULE_KINDS)(({ settings }) => settings.condition.kind),
  params: params("settings"),
  match: match(({ settings }) => settings.match),
  group_by: shape.oneOfValue("RuleGroup", GROUPS).orNull(
    ({ settings }) => settings.groupBy,
    "Null: one incident of the rule.",
  ),
  severity: severity(({ settings }) => settings.severity),
  resolve_after: shape.countValue(({ settings }) => settings.resolveAfter),
  renotify_seconds: shape.countValue(({ settings }) => settings.renotifySeconds, "0: never."),
  channels: textsValue(({ settings }) => settings.channels, "Empty: the default channels."),
  enabled: shape.booleanValue(({ settings }) => settings.enabled),
  overflow: overflow.orNull(
    "overflow",
    "Groups that share the incident `(other)`, because 1,000 others fire; null for none.",
  ),
  created_at: shape.instantValue.orNull(({ id, createdAt }) => id === null ? null : createdAt),
  updated_at: shape.instantValue.orNull(({ id, updatedAt }) => id === null ? null : updatedAt),
  updated_by: shape.textValue.orNull(
    "updatedBy",
    "Id of the credential that made the last change.",
  ),
});

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
