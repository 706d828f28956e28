/**
 * Verdicts of budgets and pauses about a run, and the texts that tell them (G3, G5, G8).
 *
 * @module
 */
import { spendPeriodOf } from "../alerts/instance.ts";
import { DAY_MS, dayOf, formatInstantOrNull } from "../core/time.ts";
import { dollarsText, type Picodollars, picodollars, picodollarsOf } from "../pricing/money.ts";
import type { RollupGroup } from "../spend/rollup.ts";
import { daysOf } from "../spend/spend_query.ts";
import {
  type Budget,
  type BudgetLabel,
  type GuardConfig,
  type GuardSubject,
  includes,
  isPaused,
  type Pause,
  pauseText,
  placeOf,
} from "./budget.ts";

/** Decisions of the guard, from the best to the worst. */
export const DECISIONS = ["allow", "warn", "block"] as const;

/** States of a budget or a pause. */
export const RULE_STATES = ["ok", "warn", "block"] as const;

/** One of {@link RULE_STATES}. */
export type RuleState = typeof RULE_STATES[number];

/** Spend of a group. */
export interface Spent {
  /** Cost in picodollars. */
  readonly cost: Picodollars;
  /** Calls without a price, which cost 0. */
  readonly unpricedCalls: number;
}

/** Spend of no run. */
export const NOTHING_SPENT: Spent = { cost: 0n, unpricedCalls: 0 };

/** Spend of a group by UTC day. */
export type SpendByDay = ReadonlyMap<string, Spent>;

/** A verdict of one budget about one group. */
export interface BudgetVerdict {
  /** The budget. */
  readonly budget: Budget;
  /** Name of the group of a budget of each; null for the only one. */
  readonly group: string | null;
  /** Spend of the period. */
  readonly spent: Spent;
  /** Limit in picodollars. */
  readonly limit: Picodollars;
  /** State; a budget that observes is always `ok`. */
  readonly state: RuleState;
  /** True if an observing budget is used up. */
  readonly wouldHaveBlocked: boolean;
  /** End of the period, unix milliseconds; null for a run. */
  readonly resetsMs: number | null;
  /** Everything acknowledged before is in the spend, unix milliseconds. */
  readonly asOfMs: number;
}

/** Verdicts about one subject, the worst first. */
export interface Verdict {
  /** Pauses that hold. */
  readonly pauses: readonly Pause[];
  /** Budgets. */
  readonly budgets: readonly BudgetVerdict[];
}

/** Returns the roll-ups that a budget's spend is the sum of; null if the subject is not in its scope. */
export function groupOf(
  { settings: { scope } }: Budget,
  subject: GuardSubject,
): RollupGroup | null {
  if (!includes(scope, subject)) return null;
  const { label } = placeOf(scope);
  return label === null ? { kind: "total" } : { kind: label, value: subject[label] };
}

/** Returns the group of a budget that is about one; null for each. */
export function onlyGroupOf({ settings: { scope } }: Budget): RollupGroup | null {
  const { label, name } = placeOf(scope);
  if (label === null) return { kind: "total" };
  return name === null ? null : { kind: label, value: name };
}

/** Returns the budgets of a period that is not a run, which roll-ups answer. */
export function ofPeriods(budgets: readonly Budget[]): readonly Budget[] {
  return budgets.filter(({ settings }) => settings.period !== "run");
}

/** Names of each label whose spend budgets judge, and `total`; null stands for each name. */
export type BudgetLabels = ReadonlyMap<BudgetLabel | "total", ReadonlySet<string> | null>;

/** Returns the labels whose spend enabled budgets of periods judge. */
export function labelsOf(budgets: readonly Budget[]): BudgetLabels {
  const labels = new Map<BudgetLabel | "total", Set<string> | null>();
  for (const { settings: { enabled, scope } } of ofPeriods(budgets)) {
    if (!enabled) continue;
    const { label, name } = placeOf(scope);
    const known = labels.get(label ?? "total");
    const isEach = label === null || name === null;
    labels.set(label ?? "total", isEach || known === null ? null : new Set(known).add(name));
  }
  return labels;
}

/** Returns the UTC days of the weeks and months that budgets may count now, in order: at most 42. */
export function daysInUse(nowMs: number): readonly string[] {
  const [week, month] = [spendPeriodOf("week", nowMs), spendPeriodOf("month", nowMs)];
  const from = dayOf(Math.min(week.startMs, month.startMs));
  return daysOf({ from, to: dayOf(Math.max(week.endMs, month.endMs) - 1) });
}

/** A budget with what its verdicts need, under one time. */
export interface PreparedBudget {
  /** The budget. */
  readonly budget: Budget;
  /** Limit in picodollars. */
  readonly limit: Picodollars;
  /** Spend from which it warns, in picodollars. */
  readonly warnsFrom: Picodollars;
  /** First and last UTC day of the period, `YYYY-MM-DD`; both are empty for a run. */
  readonly days: readonly [from: string, to: string];
  /** End of the period, unix milliseconds; null for a run. */
  readonly resetsMs: number | null;
}

/** Prepares a budget for the verdicts of its current period. */
export function prepareBudget(budget: Budget, nowMs: number): PreparedBudget {
  const { period, limit_usd, warn_at } = budget.settings;
  const limit = picodollarsOf(limit_usd);
  const warnsFrom = shareOf(limit, warn_at[0] ?? 1);
  const common = { budget, limit, warnsFrom };
  if (period === "run") return { ...common, days: ["", ""], resetsMs: null };
  const { startMs, endMs } = spendPeriodOf(period, nowMs);
  return { ...common, days: [dayOf(startMs), dayOf(endMs - 1)], resetsMs: endMs };
}

/** Returns the spend from which a share of a limit is reached, in picodollars. */
function shareOf(limit: Picodollars, share: number): Picodollars {
  return (limit * picodollars(share) + DOLLAR - 1n) / DOLLAR;
}

/** Returns the marks of a budget that a spend has reached: shares of its limit, 1 for all of it. */
export function marksReached(
  { budget, limit }: Pick<PreparedBudget, "budget" | "limit">,
  { cost }: Pick<Spent, "cost">,
): readonly number[] {
  return [...budget.settings.warn_at, 1].filter((share) => cost >= shareOf(limit, share));
}

/** Returns the spend of the days of a period. */
export function spentIn([from, to]: PreparedBudget["days"], days: SpendByDay): Spent {
  let [cost, unpricedCalls] = [0n, 0];
  for (const [day, spent] of days) {
    if (day < from || day > to) continue;
    cost += spent.cost;
    unpricedCalls += spent.unpricedCalls;
  }
  return { cost, unpricedCalls };
}

/**
 * Judges a budget by the spend of one group in its period.
 *
 * @param asOfMs everything acknowledged before is in the spend, unix milliseconds
 */
export function judgeBudget(
  { budget, limit, warnsFrom, resetsMs }: PreparedBudget,
  group: string | null,
  spent: Spent,
  asOfMs: number,
): BudgetVerdict {
  const { mode } = budget.settings;
  const isUsedUp = spent.cost >= limit;
  const warns = isUsedUp || spent.cost >= warnsFrom;
  const blocks = isUsedUp && mode === "hard";
  const state = mode === "observe" || !warns ? "ok" : blocks ? "block" : "warn";
  const wouldHaveBlocked = isUsedUp && mode === "observe";
  return { budget, group, spent, limit, state, wouldHaveBlocked, resetsMs, asOfMs };
}

/** Name of a budget's group in verdicts: the value of its label, if the budget is about each. */
export function groupNameOf({ settings: { scope } }: Budget, subject: GuardSubject): string | null {
  const { label, name } = placeOf(scope);
  return label === null || name !== null ? null : subject[label];
}

/** Orders budgets: state, share of the limit, then slug. */
export function byBadness(a: BudgetVerdict, b: BudgetVerdict): number {
  const states = RULE_STATES.indexOf(b.state) - RULE_STATES.indexOf(a.state);
  if (states !== 0) return states;
  const shares = b.spent.cost * a.limit - a.spent.cost * b.limit;
  if (shares !== 0n) return shares > 0n ? 1 : -1;
  return a.budget.slug < b.budget.slug ? -1 : 1;
}

/** Returns the pauses that hold for a subject, by slug. */
export function pausesOf({ pauses }: GuardConfig, subject: GuardSubject, nowMs: number): Pause[] {
  return pauses.filter((pause) => isPaused(pause, nowMs) && includes(pause.settings, subject));
}

/** Returns the worst of some verdicts. */
export function decisionOf({ pauses, budgets }: Verdict): typeof DECISIONS[number] {
  if (pauses.length > 0) return "block";
  const worst = budgets[0]?.state ?? "ok";
  return worst === "ok" ? "allow" : worst;
}

/** Returns the identifiers of what blocks. */
export function blockersOf({ pauses, budgets }: Verdict): string[] {
  const blocking = budgets.filter(({ state }) => state === "block").map(({ budget }) => budget);
  return [...new Set([...pauses, ...blocking].map(({ id }) => id ?? ""))];
}

/**
 * Returns the value of `Runledger-Guard` (RFC 9651).
 *
 * @param agent the only agent whose budgets may show their spend; null for all
 */
export function headerOf(verdict: Verdict, nowMs: number, agent: string | null): string {
  const decision = decisionOf(verdict);
  const [pause] = verdict.pauses;
  if (pause !== undefined) return `block;rule="${pause.id}"`;
  const [worst] = verdict.budgets;
  if (worst === undefined || decision === "allow") return "allow";
  const rule = `${decision};rule="${worst.budget.id}"`;
  if (!showsSpend(worst, agent)) return rule;
  const [spent, limit] = [decimalText(worst.spent.cost), decimalText(worst.limit)];
  const age = Math.max(0, Math.floor((nowMs - worst.asOfMs) / 1_000));
  return `${rule};spent=${spent};limit=${limit};age=${age}`;
}

/** Says why a verdict blocks, for people: the rule and a sentence. */
export function blockText(verdict: Verdict, agent: string | null): string {
  const [pause] = verdict.pauses;
  if (pause !== undefined) return `${pause.slug} ${pauseText(pause)}`;
  const worst = verdict.budgets[0] as BudgetVerdict;
  const { budget: { slug, settings: { period } }, spent, limit, resetsMs } = worst;
  if (!showsSpend(worst, agent)) return `${slug} A budget of the team is used up`;
  const [cost, usd] = [dollarsText(spent.cost), dollarsText(limit)];
  const until = formatInstantOrNull(resetsMs);
  return `${slug} ${cost} of ${usd} US dollars are spent this ${period}, until ${until}`;
}

/** Returns whether a caller may see the spend of a budget: a ping token only that of its agent. */
function showsSpend({ budget: { settings: { scope } } }: BudgetVerdict, agent: string | null) {
  const { label, name } = placeOf(scope);
  return agent === null || label === "agent" && (name === null || name === agent);
}

/** Formats an amount as a number of RFC 9651: at most three decimals, not rounded up. */
function decimalText(amount: Picodollars): string {
  return dollarsText(amount / MILLI * MILLI);
}

/** Picodollars of a dollar, and of a thousandth. */
const DOLLAR = 1_000_000_000_000n, MILLI = 1_000_000_000n;

/** Returns when verdicts change without a call: at the end of a period or a pause. */
export function nextChangeMs({ budgets, pauses }: GuardConfig, nowMs: number): number {
  const ends = pauses.map(({ settings: { until } }) => until ?? Infinity);
  const next = Math.min(...ends.filter((end) => end > nowMs), Infinity);
  const midnight = (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
  return budgets.length === 0 ? next : Math.min(next, midnight);
}
