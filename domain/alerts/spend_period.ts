/**
 * Periods of the rules of kind `spend`: days, weeks and months in UTC.
 *
 * @module
 */
import type { SPEND_PERIODS } from "./rule.ts";
import { DAY_MS } from "../core/time.ts";

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
