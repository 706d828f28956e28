/**
 * Deadlines of a group that fires: when it ends without a further outcome, and when its message is
 * repeated (decisions 70 and 77).
 *
 * @module
 */
import type { ResolvedBy } from "../channels/message.ts";
import type { RuleCondition, RuleSettings } from "./rule.ts";
import { spendPeriodOf } from "./spend_period.ts";

const DAY_MS = 86_400_000;

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
    case "missed":
    case "stuck":
    case "service":
      return null;
    default:
      return condition satisfies never;
  }
}

/** State of a group that fires, as its deadlines need it. */
export interface FiringTimes {
  /** Time of the latest bad outcome, unix milliseconds. */
  readonly lastBadAt: number;
  /** Time of the last message, unix milliseconds; null for none. */
  readonly notifiedAt: number | null;
  /** True if its incident is acknowledged. */
  readonly isAcknowledged: boolean;
}

/** Returns when the message is repeated if nothing changes, unix milliseconds; null for never. */
export function repeatAt(
  { renotifySeconds }: Pick<RuleSettings, "renotifySeconds">,
  { notifiedAt, isAcknowledged }: Pick<FiringTimes, "notifiedAt" | "isAcknowledged">,
): number | null {
  const isRepeated = renotifySeconds > 0 && notifiedAt !== null && !isAcknowledged;
  return isRepeated ? notifiedAt + renotifySeconds * 1_000 : null;
}

/**
 * Returns when to look at a group that fires, unix milliseconds; null for never. Later outcomes and
 * messages move no row: the look files it again.
 */
export function alertDueAt(rule: RuleSettings, times: FiringTimes): number | null {
  const ends = [endOf(rule.condition, times.lastBadAt)?.at ?? null, repeatAt(rule, times)];
  const all = ends.filter((at) => at !== null);
  return all.length === 0 ? null : Math.min(...all);
}
