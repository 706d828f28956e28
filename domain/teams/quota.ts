/**
 * The monthly event quota: usage, notices and projection. It never blocks a call (contract 13,
 * decisions 35 and 41).
 *
 * @module
 */
import { Query, refuseParameter } from "../core/query.ts";
import { printable, show } from "../core/text.ts";
import { formatInstant, monthOf, parseInstant } from "../core/time.ts";
import type { TeamId } from "../core/ids.ts";
import type { SendOutcome } from "../core/mail.ts";
import { retryAt } from "../work/work.ts";

/** Percentages of the included events at which the owner gets a notice. */
export const NOTICE_PERCENTS = [80, 100] as const;

/** One of {@link NOTICE_PERCENTS}. */
export type NoticePercent = typeof NOTICE_PERCENTS[number];

/** State of a month: below 80 %, below 100 %, or at least 100 %. */
export type QuotaState = "normal" | "heads_up" | "over";

/** Span of a calendar month in UTC. */
export interface Month {
  /** First instant, unix milliseconds. */
  readonly startMs: number;
  /** First instant of the next month, when the count resets. */
  readonly endMs: number;
}

/** Returns the notice percentages that a count has reached, computed exactly; none without a limit. */
export function percentsReached(used: number, included: number): NoticePercent[] {
  if (included === Infinity) return [];
  return NOTICE_PERCENTS.filter((percent) =>
    BigInt(used) * 100n >= BigInt(included) * BigInt(percent)
  );
}

/** Returns the state of a month with `used` events. */
export function quotaState(used: number, included: number): QuotaState {
  const last = percentsReached(used, included).at(-1);
  return last === undefined ? "normal" : last === 80 ? "heads_up" : "over";
}

/** Returns the span of a month `YYYY-MM`. */
export function monthSpanOf(month: string): Month {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return { startMs: Date.UTC(year, number - 1), endMs: Date.UTC(year, number) };
}

/**
 * Returns the projected usage of a month at its current pace, rounded: usage divided by the elapsed
 * fraction of the month. Before and after the month, returns the usage itself.
 */
export function projectedUse(used: number, month: string, nowMs: number): number {
  const { startMs, endMs } = monthSpanOf(month);
  if (nowMs >= endMs || nowMs <= startMs) return used;
  return Math.round(used * (endMs - startMs) / (nowMs - startMs));
}

/**
 * Parses the query of `GET /v1/usage` and returns the month.
 *
 * @param text the query string without the question mark
 * @param nowMs current time in unix milliseconds; the default is the current month
 */
export function parseUsageQuery(text: string, nowMs: number): string {
  const query = new Query(text);
  const present = monthOf(nowMs);
  const month = query.text("month") ?? present;
  // A month is valid if its first day is. As text, months sort by time.
  if (parseInstant(`${month}-01T00:00:00Z`) !== null && month <= present) return month;
  const message = `Parameter "month" must be a month such as ${present} and not in the future: ` +
    `got ${show(month)}`;
  return refuseParameter("month", message);
}

/** Content of a notice. */
export interface NoticeDetails {
  /** Name of the team. */
  readonly teamName: string;
  /** The month, `YYYY-MM`. */
  readonly month: string;
  /** Percentage of the included events that was reached. */
  readonly percent: NoticePercent;
  /** Events counted when the notice was created. */
  readonly used: number;
  /** Events included in the plan. */
  readonly included: number;
}

/** Formats the email of a notice. */
export function noticeText(
  details: NoticeDetails,
): { readonly subject: string; readonly text: string } {
  const { month, percent, included } = details;
  // The name is part of the subject header too.
  const team = printable(details.teamName);
  // The count at this mark: the notice is created later, maybe with that of a higher mark.
  const used = Math.ceil(included * percent / 100);
  const resets = formatInstant(monthSpanOf(month).endMs).slice(0, 16).replace("T", " ");
  return {
    subject: `Runledger: team ${team} has reached ${percent} % of its events for ${month}`,
    text: [
      `Team ${team} has used ${grouped(used)} of the ${grouped(included)} events`,
      `that its plan includes for ${month}.`,
      "",
      "Nothing is cut off and nothing is charged: every call is still accepted.",
      `The count resets on ${resets} UTC.`,
      "",
      "If this is more than you expect, GET /v1/usage shows the count and its projection,",
      "and GET /v1/spend?group_by=agent shows which agents use it. If it is what you need,",
      "a larger plan includes more events.",
      "",
    ].join("\n"),
  };
}

/** Formats an integer with commas between its thousands. */
function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Usage of a month next to what the plan includes. */
export interface QuotaUse extends MonthUse {
  /** Events that the plan includes; `Infinity` without a limit. */
  readonly included: number;
  /** State. */
  readonly state: QuotaState;
}

/** Usage of one month. */
export interface MonthUse {
  /** The month, `YYYY-MM` in UTC. */
  readonly month: string;
  /** Events counted. */
  readonly used: number;
}

/** Maximum milliseconds of one attempt. */
export const NOTICE_SEND_MS_MAX = 20_000;

/** Lease of an attempt in milliseconds: longer than the attempt may take. */
export const NOTICE_LEASE_MS = 2 * NOTICE_SEND_MS_MAX;

/**
 * State of a notice:
 *
 * - `logged`: written to the log only, because no recipient or mail server is configured;
 * - `pending`: waiting to be sent, or leased for an attempt;
 * - `sending`: sent to the mail server, which has not answered yet;
 * - `sent`: accepted by the mail server;
 * - `unknown`: sent to the mail server, with unknown result;
 * - `dead`: abandoned after the last attempt.
 */
export type NoticeState = "logged" | "pending" | "sending" | "sent" | "unknown" | "dead";

/** Unique key of a notice: each notice exists at most once. */
export interface NoticeName {
  /** The team. */
  readonly team: TeamId;
  /** The month, `YYYY-MM`. */
  readonly month: string;
  /** Percentage of the included events that was reached. */
  readonly percent: NoticePercent;
}

/** Notice with its delivery state. */
export interface Notice extends NoticeName, NoticeDetails {
  /** Delivery state. */
  readonly state: NoticeState;
  /** Attempts so far. */
  readonly attempts: number;
  /** Time of the next attempt, unix milliseconds; also the end of the lease. */
  readonly dueMs: number;
  /** When the mail server accepted it, unix milliseconds. */
  readonly sentAt: number | null;
  /** Error of the last attempt; null for none. */
  readonly error: string | null;
}

/** Creates a notice; it is only logged if it cannot be sent. */
export function newNotice(
  name: NoticeName,
  details: NoticeDetails,
  canSend: boolean,
  nowMs: number,
): Notice {
  const state = canSend ? "pending" : "logged";
  return { ...name, ...details, state, attempts: 0, dueMs: nowMs, sentAt: null, error: null };
}

/** Returns whether a notice still needs work. */
export function isOpen({ state }: Notice): boolean {
  return state === "pending" || state === "sending";
}

/**
 * Claims a notice that is due: starts an attempt, or marks it `unknown` if an earlier process sent it
 * and exited before the answer.
 */
export function claimed(notice: Notice, nowMs: number): Notice {
  if (notice.state === "sending") return { ...notice, state: "unknown" };
  return { ...notice, attempts: notice.attempts + 1, dueMs: nowMs + NOTICE_LEASE_MS };
}

/** Returns a notice after an attempt. */
export function attempted(notice: Notice, outcome: SendOutcome, nowMs: number): Notice {
  if (outcome.kind === "sent") return { ...notice, state: "sent", sentAt: nowMs, error: null };
  const { kind, error } = outcome;
  if (kind === "unknown") return { ...notice, state: "unknown", error };
  const dueMs = retryAt("notice", notice.attempts, nowMs);
  if (dueMs === "dead") return { ...notice, state: "dead", error };
  return { ...notice, state: "pending", dueMs, error };
}
