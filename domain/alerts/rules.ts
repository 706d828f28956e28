/**
 * The default rules, which each team has until it replaces or deletes them (decision 70).
 *
 * @module
 */
import {
  BAD_STATUSES,
  MISSED_REASONS,
  type Rule,
  type RuleCondition,
  type RuleSettings,
  SERVICE_TROUBLES,
} from "./rule.ts";

const DAY_SECONDS = 86_400;

/** Shares of the plan's events at which the service warns, in percent (decision 41). */
export const QUOTA_PERCENTS = [80, 100] as const;

/** Default rules, in the order of their slugs. */
export const DEFAULT_RULES: readonly Rule[] = [
  rule("budgets", { kind: "budget", budgets: [] }, {}),
  rule("failures", { kind: "run_failed", statuses: BAD_STATUSES, consecutive: 3 }, {
    groupBy: "agent",
    severity: "critical",
    renotifySeconds: DAY_SECONDS,
  }),
  rule("missed", { kind: "missed", reasons: MISSED_REASONS }, {
    groupBy: "agent",
    severity: "critical",
    renotifySeconds: DAY_SECONDS,
  }),
  rule("quota", { kind: "quota", percents: QUOTA_PERCENTS }, {}),
  rule("service", { kind: "service", what: SERVICE_TROUBLES }, {
    severity: "critical",
    renotifySeconds: DAY_SECONDS,
  }),
  rule("stuck", { kind: "stuck", seconds: DAY_SECONDS }, { groupBy: "agent" }),
  rule("unpriced", { kind: "unpriced" }, { groupBy: "model", severity: "info" }),
];

function rule(slug: string, condition: RuleCondition, more: Partial<RuleSettings>): Rule {
  const settings: RuleSettings = {
    match: { agents: [], customers: [], features: [] },
    resolveAfter: 1,
    channels: [],
    enabled: true,
    condition,
    groupBy: null,
    severity: "warning",
    renotifySeconds: 0,
    ...more,
  };
  return { slug, id: null, version: 0, settings, createdAt: 0, updatedAt: 0, updatedBy: null };
}
