/**
 * Groups of a rule, one incident for each, and the subjects that a rule or a silence applies to.
 *
 * @module
 */
import type { IncidentGroup } from "../channels/message.ts";
import { isOfRuns, OTHER_GROUP, type RuleSettings } from "./rule.ts";
import { appliesToAgent, matchesAgent } from "../config/objects.ts";
import type { Silence } from "./silence.ts";

/**
 * Maximum bytes of a group's name in a key, so that many groups fit a commit. Longer names with the
 * same beginning share a group.
 */
const NAME_BYTES_MAX = 256;

const encoder = new TextEncoder();

/** A share of a budget's limit that the spend of a group reached. */
export interface BudgetMark {
  /** The share, 1 for all of the limit. */
  readonly share: number;
  /** The budget, and the group that spent it. */
  readonly group: IncidentGroup;
}

/** The subject of a signal; rules match it and group by it. */
export interface SignalSubject {
  /** Agent's slug; null for none. */
  readonly agent: string | null;
  /** Customer's id; null for none. */
  readonly customer: string | null;
  /** Feature; null for none. */
  readonly feature: string | null;
  /** Model, as `provider/model`; null for none. */
  readonly model: string | null;
  /** Mark of a budget that was reached; absent for all else. */
  readonly mark?: BudgetMark;
  /** True for a run that another run started; absent for all else. */
  readonly isChild?: true;
}

/** A group, with the text that keys and rows of the work queue name it by. */
export interface Group {
  /** The text: `=` and the name; empty for all else, such as runs without a customer. */
  readonly text: string;
  /** The group as incidents show it. */
  readonly group: IncidentGroup;
}

/** The group of what does not fit. */
export const OTHER: Group = { text: OTHER_GROUP, group: {} };

/** Returns the group of a subject. */
export function groupOf(groupBy: RuleSettings["groupBy"], subject: SignalSubject): Group {
  if (subject.mark !== undefined) return groupOfMark(subject.mark);
  const name = groupBy === null ? null : subject[groupBy];
  if (groupBy === null || name === null) return { text: "", group: {} };
  return { text: `=${beginningOf(name)}`, group: { [groupBy]: name } };
}

function groupOfMark({ share, group }: BudgetMark): Group {
  const { budget = "", ...names } = group;
  const name = Object.values(names).join();
  return { text: `=${share} ${budget} ${beginningOf(name)}`, group };
}

/** Returns the share in the text of a budget's mark. */
export function shareIn(text: string): number {
  return Number(text.slice(1, text.indexOf(" ")));
}

/** Returns the name in the text of a group; null for what has none, or if it may be a beginning. */
export function nameIn(text: string): string | null {
  const name = text.slice(1);
  // No character takes more than four bytes.
  const isWhole = encoder.encode(name).length <= NAME_BYTES_MAX - 4;
  return text.startsWith("=") && isWhole ? name : null;
}

function beginningOf(name: string): string {
  // No UTF-16 unit takes more than three bytes.
  if (name.length * 3 <= NAME_BYTES_MAX) return name;
  return name.slice(0, encoder.encodeInto(name, new Uint8Array(NAME_BYTES_MAX)).read);
}

/** Returns whether a rule applies to a subject. */
export function matches(
  { condition, match }: Pick<RuleSettings, "condition" | "match">,
  subject: SignalSubject,
): boolean {
  // What a child run does, the run that started it shows (R32).
  if (subject.isChild && isOfRuns(condition) && condition.runs !== "all") return false;
  const { agents, customers, features } = match;
  return appliesToAgent(agents, subject.agent) && isIn(customers, subject.customer) &&
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
