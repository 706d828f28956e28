/**
 * Subjects that rules and silences apply to.
 *
 * @module
 */
import type { IncidentGroup } from "../channels/message.ts";
import { matchesAgent } from "../config/objects.ts";
import { isOfRuns, type RuleSettings } from "./rule.ts";
import type { Silence } from "./silence.ts";
import type { SignalSubject } from "./signal.ts";

/** Returns whether a rule applies to a subject. */
export function matches(
  { condition, match }: Pick<RuleSettings, "condition" | "match">,
  subject: SignalSubject,
): boolean {
  // What a child run does, the run that started it shows (R32).
  if (subject.isChild && isOfRuns(condition) && condition.runs !== "all") return false;
  const { agents, customers, features } = match;
  return matchesAgent(agents, subject.agent) && isIn(customers, subject.customer) &&
    isIn(features, subject.feature);
}

/**
 * Returns whether a silence mutes the messages about an incident. One that names agents or customers
 * mutes no incident of another group.
 */
export function isMuted(
  { settings: { match, fromMs, untilMs } }: Silence,
  { rule, group }: { readonly rule: string; readonly group: IncidentGroup },
  nowMs: number,
): boolean {
  return nowMs >= fromMs && nowMs < untilMs && isIn(match.rules, rule) &&
    matchesAgent(match.agents, group.agent ?? null) &&
    isIn(match.customers, group.customer ?? null);
}

function isIn(names: readonly string[], name: string | null): boolean {
  return names.length === 0 || name !== null && names.includes(name);
}
