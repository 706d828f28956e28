/**
 * The default rules, which each team has until it replaces or deletes them (decision 70).
 *
 * @module
 */
import { BAD_STATUSES, MISSED_REASONS, type Rule, SERVICE_TROUBLES } from "./rule.ts";
import type { RuleSettings } from "./rule.ts";

const DAY_SECONDS = 86_400;

/** Shares of the plan's events at which the service warns, in percent (decision 41). */
export const QUOTA_PERCENTS = [80, 100] as const;

const ALL = { agents: [], customers: [], features: [] } as const;

const COMMON = {
  match: ALL,
  resolveAfter: 1,
  channels: [],
  enabled: true,
} as const;

/** Default rules, in the order of their slugs. */
export const DEFAULT_RULES: readonly Rule[] = [
  rule("failures", {
    ...COMMON,
    condition: { kind: "run_failed", statuses: BAD_STATUSES, consecutive: 3 },
    groupBy: "agent",
    severity: "critical",
    renotifySeconds: DAY_SECONDS,
  }),
  rule("missed", {
    ...COMMON,
    condition: { kind: "missed", reasons: MISSED_REASONS },
    groupBy: "agent",
    severity: "critical",
    renotifySeconds: DAY_SECONDS,
  }),
  rule("quota", {
    ...COMMON,
    condition: { kind: "quota", percents: QUOTA_PERCENTS },
    groupBy: null,
    severity: "warning",
    renotifySeconds: 0,
  }),
  rule("service", {
    ...COMMON,
    condition: { kind: "service", what: SERVICE_TROUBLES },
    groupBy: null,
    severity: "critical",
    renotifySeconds: DAY_SECONDS,
  }),
  rule("stuck", {
    ...COMMON,
    condition: { kind: "stuck", seconds: DAY_SECONDS },
    groupBy: "agent",
    severity: "warning",
    renotifySeconds: 0,
  }),
  rule("unpriced", {
    ...COMMON,
    condition: { kind: "unpriced" },
    groupBy: "model",
    severity: "info",
    renotifySeconds: 0,
  }),
];

function rule(slug: string, settings: RuleSettings): Rule {
  return { slug, id: null, version: 0, settings, createdAt: 0, updatedAt: 0, updatedBy: null };
}
