/**
 * Groups of rules that signals touch.
 *
 * @module
 */
import { outcomeFor } from "./instance.ts";
import { groupName } from "./deadlines.ts";
import { type Group, groupOf, matches } from "./group.ts";
import type { Recipients } from "./notify.ts";
import { type Rule, type RuleKind, RULES_PER_SIGNAL_MAX, type TeamCounts } from "./rule.ts";
import type { AlertSignal } from "./signal.ts";

/** Rules of a team, and where messages are sent. */
export interface AlertConfig extends Recipients {
  /** All rules. */
  readonly rules: readonly Rule[];
  /** Enabled rules. */
  readonly byKind: ReadonlyMap<RuleKind, readonly Rule[]>;
}

/** Signals of one group of a rule, in order. */
export interface Touched extends Group {
  /** Rule that counts the signals. */
  readonly rule: Rule;
  /** Its signals. */
  readonly signals: readonly AlertSignal[];
  /** The bad ones. */
  readonly bad: readonly AlertSignal[];
}

/** Kinds of rules that judge runs: only those closed after the rule's last change. */
const OF_RUNS: ReadonlySet<RuleKind> = new Set([
  "run_failed",
  "check_failed",
  "run_cost",
  "unpriced",
]);

/** Returns signals by rule and group, without good ones that no instance can count. */
export function touched(
  config: AlertConfig,
  counts: TeamCounts,
  signals: readonly AlertSignal[],
): Touched[] {
  const groups = new Map<
    string,
    Touched & { readonly signals: AlertSignal[]; bad: AlertSignal[] }
  >();
  for (const signal of signals) {
    for (const rule of rulesOf(config, signal)) {
      const group = groupOf(rule.settings.groupBy, signal.subject);
      const name = groupName(rule.slug, group.text);
      const known = groups.get(name) ?? { ...group, rule, signals: [], bad: [] };
      groups.set(name, known);
      known.signals.push(signal);
      if (outcomeFor(rule, signal) === "bad") known.bad.push(signal);
    }
  }
  return Array.from(groups.values()).filter(({ rule, bad }) =>
    bad.length > 0 || (counts[rule.slug]?.instances ?? 0) > 0
  );
}

/** Returns the rules that count a signal. */
function rulesOf({ byKind }: AlertConfig, signal: AlertSignal): readonly Rule[] {
  const ofKind = byKind.get(signal.kind) ?? [];
  return ofKind.filter(({ slug, updatedAt, settings }) =>
    (signal.rule === null || signal.rule === slug) &&
    (!OF_RUNS.has(signal.kind) || signal.at >= updatedAt) &&
    matches(settings, signal.subject)
  ).slice(0, RULES_PER_SIGNAL_MAX);
}
