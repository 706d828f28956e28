/**
 * The monthly quota: how much a team has used, and what it means. It never stands in the way of a call
 * (contract 13, decisions 35 and 41).
 *
 * @module
 */
import { type Parsed, refuse } from "../core/errors.ts";
import { parseQuery } from "../core/query.ts";
import { printable, show } from "../core/text.ts";
import { formatInstant, monthOf, parseInstant } from "../core/time.ts";

/** Percents of the included events at which the owner is told. */
export const NOTICE_PERCENTS = [80, 100] as const;

/** One of {@link NOTICE_PERCENTS}. */
export type NoticePercent = typeof NOTICE_PERCENTS[number];

/** How a month stands: below 80 %, below 100 %, or above. */
export type QuotaState = "normal" | "heads_up" | "over";

/** A calendar month in UTC, `YYYY-MM`, from its first millisecond to the first of the next. */
export interface Month {
  /** First instant, unix milliseconds. */
  readonly startMs: number;
  /** First instant of the month after it: the count begins anew. */
  readonly endMs: number;
}

/** The percents that a count has reached; exact, and none where everything is included. */
export function percentsReached(used: number, included: number): NoticePercent[] {
  if (included === Infinity) return [];
  return NOTICE_PERCENTS.filter((percent) =>
    BigInt(used) * 100n >= BigInt(included) * BigInt(percent)
  );
}

/** How a month with so many events stands. */
export function quotaState(used: number, included: number): QuotaState {
  const last = percentsReached(used, included).at(-1);
  return last === undefined ? "normal" : last === 80 ? "heads_up" : "over";
}

/** The span of a month `YYYY-MM`. */
export function monthSpanOf(month: string): Month {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return { startMs: Date.UTC(year, number - 1), endMs: Date.UTC(year, number) };
}

/**
 * What a month comes to at its present pace: what was used so far by the share of the month that has
 * passed, rounded. A month that is over, or has only just begun, comes to what was used.
 */
export function projectedUse(used: number, month: string, nowMs: number): number {
  const { startMs, endMs } = monthSpanOf(month);
  if (nowMs >= endMs || nowMs <= startMs) return used;
  return Math.round(used * (endMs - startMs) / (nowMs - startMs));
}

/**
 * Reads the query of a question about usage.
 *
 * @param text the query without its question mark
 * @param nowMs unix milliseconds: the present month is meant unless one is named
 */
export function parseUsageQuery(text: string, nowMs: number): Parsed<string> {
  const parameters = parseQuery(text);
  if (!parameters.ok) return parameters;
  const present = monthOf(nowMs);
  const month = parameters.value.get("month") ?? present;
  // A month is one whose first day is a day; as texts months sort by time.
  if (parseInstant(`${month}-01T00:00:00Z`) !== null && month <= present) {
    return { ok: true, value: month };
  }
  const message = `Parameter "month" must be a month such as ${present}, not a later one: ` +
    `got ${show(month)}`;
  return refuse("invalid_field", message, "month");
}

/** What a notice tells. */
export interface NoticeDetails {
  /** Name of the team. */
  readonly teamName: string;
  /** The month, `YYYY-MM`. */
  readonly month: string;
  /** What was passed. */
  readonly percent: NoticePercent;
  /** Events counted when that was noticed. */
  readonly used: number;
  /** Events included in the plan. */
  readonly included: number;
}

/** Writes the e-mail of a notice. */
export function noticeText(
  facts: NoticeDetails,
): { readonly subject: string; readonly text: string } {
  const { month, percent, used, included } = facts;
  // It stands in a header too.
  const team = printable(facts.teamName);
  const resets = formatInstant(monthSpanOf(month).endMs).slice(0, 16).replace("T", " ");
  return {
    subject: `Runledger: team ${team} has reached ${percent} % of its events for ${month}`,
    text: [
      `Team ${team} has used ${grouped(used)} of the ${grouped(included)} events`,
      `that its plan includes for ${month}.`,
      "",
      "Nothing is cut off and nothing is charged: every call is accepted as before,",
      `whatever the count. It begins anew on ${resets} UTC.`,
      "",
      "If this is more than you expect, GET /v1/usage shows the count and where it is",
      "heading, and GET /v1/spend?group_by=agent which agents do the work. If it is what",
      "you need, a larger plan includes more events.",
      "",
    ].join("\n"),
  };
}

/** A whole number with commas between its thousands. */
function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Events of one month. */
export interface MonthUse {
  /** The month, `YYYY-MM` in UTC. */
  readonly month: string;
  /** Events counted. */
  readonly used: number;
}
