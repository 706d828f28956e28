/**
 * Times at which the work loop checks a group that fires.
 *
 * @module
 */
import { type AlertEnd, endOf, QUIET_MS, repeatDueAt } from "./deadlines.ts";
import type { Incident } from "./incident.ts";
import { type AlertInstance, stateOf } from "./instance.ts";
import { OTHER_GROUP, type Rule } from "./rule.ts";

/** Returns when a group that fires ends by time alone; null for never. */
export function groupEndOf(rule: Rule, instance: AlertInstance): AlertEnd | null {
  const { isFiring, last } = stateOf(instance, rule);
  if (!isFiring || last === null) return null;
  // No outcome of the groups that share one is good.
  if (instance.text === OTHER_GROUP) return { at: last.at + QUIET_MS, by: "quiet" };
  return endOf(rule.settings.condition, last.at);
}

/**
 * Returns when to look at a group that fires, unix milliseconds; null for never.
 *
 * @param incident its incident; null for none
 */
export function groupDueAt(
  rule: Rule,
  instance: AlertInstance,
  incident: Incident | null,
  nowMs: number,
): number | null {
  const end = groupEndOf(rule, instance)?.at ?? null;
  const repeat = incident === null ? null : repeatDueAt(rule.settings, incident);
  // One that is due was held back by a silence.
  const next = repeat !== null && repeat <= nowMs
    ? nowMs + rule.settings.renotifySeconds * 1_000
    : repeat;
  const all = [end, next].filter((at) => at !== null);
  return all.length === 0 ? null : Math.max(nowMs + 1, Math.min(...all));
}
