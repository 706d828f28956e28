/**
 * Alert rules: conditions that open incidents (decisions 70 to 81), and the default rules, which each
 * team has until it replaces or deletes them.
 *
 * @module
 */
import type { ConfigObject } from "../config/objects.ts";
import type { Severity } from "../channels/message.ts";
import type { CheckSeverity } from "../runs/check_result.ts";

/** Kinds of rules. */
export const RULE_KINDS = [
  "run_failed",
  "check_failed",
  "run_cost",
  "spend",
  "budget",
  "missed",
  "stuck",
  "unpriced",
  "quota",
  "service",
] as const;

/** One of {@link RULE_KINDS}. */
export type RuleKind = typeof RULE_KINDS[number];

/** Statuses that `run_failed` counts as bad. */
export const BAD_STATUSES = ["failed", "timeout"] as const;

/** Periods of `spend`, in UTC; weeks begin on Monday. */
export const SPEND_PERIODS = ["day", "week", "month"] as const;

/** Reasons for which a monitor goes down. */
export const MISSED_REASONS = ["missed", "failed", "overrun"] as const;

/** Troubles of `service`. */
export const SERVICE_PROBLEMS = [
  "dead_stage",
  "dead_delivery",
  "broken_channel",
  "blocked_judge",
  "judge_cap_near",
  "judge_cap_used_up",
] as const;

/** Runs that a rule about runs judges: those without a parent, or child runs too. */
export const RUN_SCOPES = ["root", "all"] as const;

/** Parameter of the rules about runs. */
export interface OfRuns {
  /** One of {@link RUN_SCOPES}; `root` when absent. */
  readonly runs?: "all";
}

/** Kind and parameters of a rule. */
export type RuleCondition =
  /** A run closed with one of these statuses, this many times in a row. */
  | OfRuns & {
    readonly kind: "run_failed";
    readonly statuses: readonly (typeof BAD_STATUSES[number])[];
    readonly consecutive: number;
  }
  /**
   * A run failed one of these checks, of at least this severity, in this many runs in a row. A check
   * that could not be decided counts as a failure of the severity `warn`.
   */
  | OfRuns & {
    readonly kind: "check_failed";
    /** Slugs; empty for all. */
    readonly checks: readonly string[];
    readonly severityMin: CheckSeverity;
    readonly consecutive: number;
  }
  /** One run cost more than this many US dollars; open runs count. `usd` is a decimal text. */
  | OfRuns & { readonly kind: "run_cost"; readonly usd: string }
  /** The spend of a group in a period is at least this many US dollars. */
  | {
    readonly kind: "spend";
    readonly usd: string;
    readonly period: typeof SPEND_PERIODS[number];
  }
  /** The spend of a budget's period reached one of its marks: a share of the limit, or all of it. */
  | {
    readonly kind: "budget";
    /** Slugs; empty for all. */
    readonly budgets: readonly string[];
  }
  /** A monitor went down for one of these reasons. */
  | { readonly kind: "missed"; readonly reasons: readonly (typeof MISSED_REASONS[number])[] }
  /** A run is open for longer. */
  | OfRuns & { readonly kind: "stuck"; readonly seconds: number }
  /** A model was called that has no price. */
  | { readonly kind: "unpriced" }
  /** The events of the month reached these shares of the plan. */
  | { readonly kind: "quota"; readonly percents: readonly number[] }
  /** Something of the service itself is in trouble. */
  | { readonly kind: "service"; readonly what: readonly (typeof SERVICE_PROBLEMS[number])[] };

/** Returns whether a rule is about runs, and not about models, agents or the team. */
export function isOfRuns(condition: RuleCondition): condition is RuleCondition & OfRuns {
  const { kind } = condition;
  return kind === "run_failed" || kind === "check_failed" || kind === "run_cost" ||
    kind === "stuck";
}

/** Maximum budgets of a team. */
export const BUDGETS_MAX = 50;

/** Groups of incidents. */
export const GROUPS = ["agent", "customer", "feature", "model"] as const;

/** Settings of a rule. */
export interface RuleSettings {
  /** Kind and parameters. */
  readonly condition: RuleCondition;
  /** Agents, customers and features that it applies to; empty for all. */
  readonly match: {
    /** Slugs; `*` at the end matches any rest. */
    readonly agents: readonly string[];
    /** Ids. */
    readonly customers: readonly string[];
    /** Names. */
    readonly features: readonly string[];
  };
  /** One incident for each of these; null for one of the rule. */
  readonly groupBy: typeof GROUPS[number] | null;
  /** Severity of its incidents. */
  readonly severity: Severity;
  /** Good outcomes in a row that resolve an incident, 1 to 32. */
  readonly resolveAfter: number;
  /** Seconds between messages about an incident that stays open; 0 for none. */
  readonly renotifySeconds: number;
  /** Slugs of channels; empty for the default ones. */
  readonly channels: readonly string[];
  /** False to open nothing. */
  readonly enabled: boolean;
}

/** A rule; a default one has version 0. */
export type Rule = ConfigObject<RuleSettings>;

/** Groups of a rule that share {@link OTHER_GROUP}, because too many fire. */
export interface RuleOverflow {
  /** First time, unix milliseconds. */
  readonly since: number;
  /** Number of outcomes of such groups. */
  readonly groups: number;
}

/** Numbers of the instances of a rule. */
export interface RuleCounts {
  /** Instances with a row. */
  readonly instances: number;
  /** Instances with an incident, or that wait for it. */
  readonly firing: number;
  /** Groups that share one incident; null for none. */
  readonly overflow: RuleOverflow | null;
}

/** Numbers of a team's instances, by the rule's slug; a rule without any is left out. */
export type TeamCounts = Readonly<Record<string, RuleCounts>>;

/** Maximum rules of a kind that count what one run or monitor reports: the first by slug. */
export const RULES_PER_SIGNAL_MAX = 10;

/** Maximum groups of a rule that fire at once; further ones share {@link OTHER_GROUP}. */
export const FIRING_GROUPS_MAX = 1_000;

/** Maximum instances of a team that are not ok. */
export const INSTANCES_MAX = 10_000;

/** Name of the group of what does not fit. */
export const OTHER_GROUP = "(other)";

/**
 * Seconds by which the end of a run may be before the arrival of its close, or the start of an open
 * one before that of its opening: imports raise nothing.
 */
export const IMPORT_SECONDS = 86_400;

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
  rule("service", { kind: "service", what: SERVICE_PROBLEMS }, {
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
