/**
 * Delivery of quota notices to the owner: at most once, even across crashes.
 *
 * If a mail server gets a message and then stops responding, the message may or may not have been
 * accepted. So a notice is marked before its message is sent, and a marked notice is not sent again
 * (decision 41).
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { MonthUse, NoticeDetails, NoticePercent } from "./quota.ts";
import type { Team } from "./team.ts";
import type { SendOutcome } from "../core/mail.ts";

/** Maximum delivery attempts of an email. */
export const NOTICE_ATTEMPTS_MAX = 8;

/** Backoff in milliseconds after the first attempt; doubles with each attempt. */
export const NOTICE_BACKOFF_MS = 60_000;

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
  if (notice.attempts >= NOTICE_ATTEMPTS_MAX) return { ...notice, state: "dead", error };
  const waitMs = NOTICE_BACKOFF_MS * 2 ** (notice.attempts - 1);
  return { ...notice, state: "pending", dueMs: nowMs + waitMs, error };
}

/** Store of usage and notices. Methods reject with `StorageUnavailable` when the store fails. */
export interface UsageStore {
  /** Returns the events counted in a month, `YYYY-MM`. */
  used(team: TeamId, month: string): Promise<number>;
  /** Returns the last months with usage, latest first. */
  months(team: TeamId, max: number): Promise<readonly MonthUse[]>;
  /** Returns the notices of a month, by percentage. */
  notices(team: TeamId, month: string): Promise<readonly Notice[]>;
}

/** Notice with the version at which it was read. */
export interface ReadNotice {
  /** The notice. */
  readonly notice: Notice;
  /** Version, which changes with every write. */
  readonly version: string;
}

/** A check of all teams: an instance may have ended before it checked a team that it updated. */
export interface NoticeCheck {
  /** Time at which it began, unix milliseconds. */
  readonly startedAt: number;
  /** The last team checked; absent for none. */
  readonly lastTeam?: TeamId;
  /** True once all teams are checked. */
  readonly isDone: boolean;
}

/** Notices as the notice job uses them. Methods reject with `StorageUnavailable`. */
export interface NoticeStore {
  /** Iterates over the teams after one; over all if it is null. */
  teams(after: TeamId | null): AsyncIterable<TeamId>;
  /** Reads the last check of all teams; null if there was none. */
  lastCheck(): Promise<NoticeCheck | null>;
  /** Stores the progress of a check of all teams. */
  saveCheck(check: NoticeCheck): Promise<void>;
  /** Reads a team; null if there is none. */
  team(id: TeamId): Promise<Team | null>;
  /** Returns the events counted in a month, `YYYY-MM`. */
  used(team: TeamId, month: string): Promise<number>;
  /** Returns whether a notice exists. */
  has(name: NoticeName): Promise<boolean>;
  /** Stores a new notice; returns false if it already exists. */
  add(notice: Notice): Promise<boolean>;
  /** Returns the notices that still need work. */
  open(): Promise<readonly ReadNotice[]>;
  /** Changes a notice; returns null if it was changed since it was read. */
  change(current: ReadNotice, to: Notice): Promise<ReadNotice | null>;
}
