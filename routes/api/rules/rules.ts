/** Endpoints of alert rules. */
import type { RuleOverflow, RuleSettings } from "../../../domain/alerts/rule.ts";
import { RULES } from "../../../domain/alerts/rule_body.ts";
import * as shape from "../../openapi/wire.ts";
import { objectEndpoints, settingsFields, type ShownObject } from "../objects.ts";

/** Members of the response besides the settings of a rule. */
interface WithOverflow {
  /** Groups that share one incident; null for none. */
  readonly overflow: RuleOverflow | null;
}

const overflow = shape.object<RuleOverflow>("RuleOverflow", {
  since: shape.instant("since"),
  groups: shape.count("groups", "Outcomes of such groups since then."),
});

/** Endpoints of `/v1/rules`. */
export const RULE_ENDPOINTS = objectEndpoints({
  of: RULES,
  tag: "Alerts",
  fields: {
    ...settingsFields(RULES),
    overflow: overflow.orNull<ShownObject<RuleSettings, WithOverflow>>(
      "overflow",
      "Groups that share the incident `(other)`, because 1,000 others fire; null for none.",
    ),
  },
  read: async ({ incidents }, team, rules) => {
    const overflows = await incidents.overflows(team);
    return rules.map(({ slug }) => ({ overflow: overflows.get(slug) ?? null }));
  },
  texts: {
    put: "Creates a rule that opens incidents, or replaces it: its incidents are then resolved.",
    list: "Lists rules by slug, with the default rules that are neither replaced nor deleted.",
    remove: "Deletes a rule and resolves its incidents. A default rule stays deleted until a PUT " +
      "of its slug.",
  },
});
