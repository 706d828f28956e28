/** Settings of alert rules. */
import type { RuleSettings } from "../../../domain/alerts/rule.ts";

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

export const THREE_FAILURES: RuleSettings = ruleOf(
  { kind: "run_failed", statuses: ["failed", "timeout"], consecutive: 3 },
  { groupBy: "agent", severity: "critical" },
);
