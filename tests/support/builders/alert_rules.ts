/** Settings of alert rules. */
import type { RuleSettings } from "../../../domain/alerts/rule.ts";

/** Three failures in a row of an agent. */
export const THREE_FAILURES: RuleSettings = {
  condition: { kind: "run_failed", statuses: ["failed", "timeout"], consecutive: 3 },
  match: { agents: [], customers: [], features: [] },
  groupBy: "agent",
  severity: "critical",
  resolveAfter: 1,
  renotifySeconds: 0,
  channels: [],
  enabled: true,
};

/** Settings of a rule for all. */
export function ruleOf(
  condition: RuleSettings["condition"],
  changed: Partial<RuleSettings> = {},
): RuleSettings {
  return {
    condition,
    match: { agents: [], customers: [], features: [] },
    groupBy: null,
    severity: "warning",
    resolveAfter: 1,
    renotifySeconds: 0,
    channels: [],
    enabled: true,
    ...changed,
  };
}
