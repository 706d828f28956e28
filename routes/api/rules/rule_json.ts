/** JSON of alert rules in responses. */
import {
  GROUPS,
  type Rule,
  RULE_KINDS,
  type RuleOverflow,
  type RuleSettings,
} from "../../../domain/alerts/rule.ts";
import { ruleFields } from "../../../domain/alerts/rule_body.ts";
import { ruleParams } from "../../../domain/alerts/rule_params.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import * as shape from "../../openapi/wire.ts";
import { SLUG_FIELD, textsValue } from "../config/fields.ts";

/** A rule with what is shown of it in addition. */
export interface RuleRow extends Rule {
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
export const ruleValue = shape.objectValue<RuleRow>("Rule", {
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
