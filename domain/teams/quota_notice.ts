/**
 * A notice about the quota on its way to the owner: told once or never, whatever crashes.
 *
 * Nothing can tell whether a mail server that was given a message and then fell silent has kept it. So
 * a notice is marked before the message is given away, and one that is found so marked is not sent
 * again (decision 41).
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { MonthUse, NoticeDetails, NoticePercent } from "./quota.ts";
import type { Team } from "./team.ts";
import type { SendOutcome } from "../core/mail.ts";

/** Tries of an e-mail before it is given up. */
export const NOTICE_ATTEMPTS_MAX = 8;

/** Milliseconds between the first two tries; doubles with each. */
export const NOTICE_BACKOFF_MS = 60_000;

/** Milliseconds one try may take; the mail server decides how much of it. */
export const NOTICE_SEND_MS_MAX = 20_000;

/** Milliseconds a try belongs to one process: longer than the try may take. */
export const NOTICE_LEASE_MS = 2 * NOTICE_SEND_MS_MAX;

/**
 * - `logged`: told by a line of the log, because there is nowhere to send it;
 * - `pending`: to be sent, or with a lease being prepared;
 * - `sending`: given to the mail server, which has not answered yet;
 * - `sent`: accepted by the mail server;
 * - `unknown`: given to the mail server, and nobody knows what became of it;
 * - `dead`: given up.
 */
export type NoticeState = "logged" | "pending" | "sending" | "sent" | "unknown" | "dead";

/** What names a notice: there is one of each, ever. */
export interface NoticeName {
  /** The team. */
  readonly team: TeamId;
  /** The month, `YYYY-MM`. */
  readonly month: string;
  /** What was passed. */
  readonly percent: NoticePercent;
}

/** A notice. */
export interface Notice extends NoticeName, NoticeDetails {
  /** How it stands. */
  readonly state: NoticeState;
  /** Tries so far. */
  readonly attempts: number;
  /** When it is to be looked at next, unix milliseconds; until then it belongs to who took it. */
  readonly dueMs: number;
  /** When the mail server accepted it, unix milliseconds. */
  readonly sentAt: number | null;
  /** What the last try failed for. */
  readonly error: string | null;
}

/** A notice that was just decided; without anywhere to send it, it is told by the log. */
export function newNotice(
  name: NoticeName,
  facts: NoticeDetails,
  canSend: boolean,
  nowMs: number,
): Notice {
  const state = canSend ? "pending" : "logged";
  return { ...name, ...facts, state, attempts: 0, dueMs: nowMs, sentAt: null, error: null };
}

/** Whether something is still to be done about it. */
export function isOpen({ state }: Notice): boolean {
  return state === "pending" || state === "sending";
}

/**
 * Takes a notice that is due: a try begins, or, when an earlier process gave it away and ended before
 * the answer, it becomes unknown.
 */
export function claimed(notice: Notice, nowMs: number): Notice {
  if (notice.state === "sending") return { ...notice, state: "unknown" };
  return { ...notice, attempts: notice.attempts + 1, dueMs: nowMs + NOTICE_LEASE_MS };
}

/** A notice after a try. */
export function attempted(notice: Notice, outcome: SendOutcome, nowMs: number): Notice {
  if (outcome.kind === "sent") return { ...notice, state: "sent", sentAt: nowMs, error: null };
  const { kind, error } = outcome;
  if (kind === "unknown") return { ...notice, state: "unknown", error };
  if (notice.attempts >= NOTICE_ATTEMPTS_MAX) return { ...notice, state: "dead", error };
  const waitMs = NOTICE_BACKOFF_MS * 2 ** (notice.attempts - 1);
  return { ...notice, state: "pending", dueMs: nowMs + waitMs, error };
}

/** What teams use. Methods reject with `StorageUnavailable` when the store fails. */
export interface UsageStore {
  /** Events counted in a month, `YYYY-MM`. */
  used(team: TeamId, month: string): Promise<number>;
  /** The last months with usage, latest first. */
  months(team: TeamId, max: number): Promise<readonly MonthUse[]>;
  /** The notices of a month, by percent. */
  notices(team: TeamId, month: string): Promise<readonly Notice[]>;
}

/** A notice with the version it was read in. */
export interface ReadNotice {
  /** The notice. */
  readonly notice: Notice;
  /** Changes with it. */
  readonly version: string;
}

/** The notices about quotas as the job sees them. Methods reject with `StorageUnavailable`. */
export interface NoticeStore {
  /** All teams. */
  teams(): AsyncIterable<TeamId>;
  /** A team as it is now; null when there is none. */
  team(id: TeamId): Promise<Team | null>;
  /** Events counted in a month, `YYYY-MM`. */
  used(team: TeamId, month: string): Promise<number>;
  /** Whether there is such a notice. */
  has(name: NoticeName): Promise<boolean>;
  /** Stores a new notice; answers false when there is one of that name. */
  add(notice: Notice): Promise<boolean>;
  /** The notices about which something is still to be done. */
  open(): Promise<readonly ReadNotice[]>;
  /** Changes a notice; answers null when somebody else did since it was read. */
  change(known: ReadNotice, to: Notice): Promise<ReadNotice | null>;
}
