/**
 * Deadlines of a group that fires: when it ends without a further outcome, and when its message is
 * repeated (decisions 70 and 77).
 *
 * @module
 */
import type { ResolvedBy } from "../channels/message.ts";
import type { Incident } from "./incident.ts";
import type { RuleCondition, RuleSettings, SPEND_PERIODS } from "./rule.ts";
import { DAY_MS } from "../core/time.ts";

/** Milliseconds without a bad outcome after which a group ends in which no outcome is good. */
export const QUIET_MS: number = DAY_MS;

/** Milliseconds without a call after which a model without a price is no longer reported. */
export const UNPRICED_QUIET_MS: number = 7 * DAY_MS;

/** End of a group that fires. */
export interface AlertEnd {
  /** Time, unix milliseconds. */
  readonly at: number;
  /** Reason. */
  readonly by: ResolvedBy;
}

/**
 * Returns when a group ends by time alone; null if only an outcome or a look ends it.
 *
 * @param lastBadAt time of its latest bad outcome, unix milliseconds
 */
export function endOf(condition: RuleCondition, lastBadAt: number): AlertEnd | null {
  switch (condition.kind) {
    case "run_cost":
      return { at: lastBadAt + QUIET_MS, by: "quiet" };
    case "spend":
      return { at: spendPeriodOf(condition.period, lastBadAt).endMs, by: "condition" };
    case "quota":
      return { at: spendPeriodOf("month", lastBadAt).endMs, by: "condition" };
    case "unpriced":
      return { at: lastBadAt + UNPRICED_QUIET_MS, by: "quiet" };
    case "run_failed":
    case "check_failed":
    case "missed":
    case "stuck":
    case "service":
      return null;
    default:
      return condition satisfies never;
  }
}

/** Returns when the message is repeated if nothing changes, unix milliseconds; null for never. */
export function repeatDueAt(
  { renotifySeconds }: Pick<RuleSettings, "renotifySeconds">,
  { notifiedAt, state }: Pick<Incident, "notifiedAt" | "state">,
): number | null {
  const isRepeated = renotifySeconds > 0 && notifiedAt !== null && state === "open";
  return isRepeated ? notifiedAt + renotifySeconds * 1_000 : null;
}

/** Days from a Monday to the first day of unix time, a Thursday. */
const MONDAY_TO_EPOCH_DAYS = 3;

/** Span of a period, unix milliseconds. */
export interface SpendPeriod {
  /** Begin, inclusive. */
  readonly startMs: number;
  /** End, exclusive. */
  readonly endMs: number;
}

/** Returns the period that an instant is in. */
export function spendPeriodOf(period: typeof SPEND_PERIODS[number], atMs: number): SpendPeriod {
  if (period === "month") {
    const date = new Date(atMs);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
  }
  const day = Math.floor(atMs / DAY_MS);
  const [days, offset] = period === "week" ? [7, MONDAY_TO_EPOCH_DAYS] : [1, 0];
  const first = Math.floor((day + offset) / days) * days - offset;
  return { startMs: first * DAY_MS, endMs: (first + days) * DAY_MS };
}
