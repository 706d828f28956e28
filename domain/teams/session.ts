/**
 * Sessions of the dashboard: who signed in with a key goes on without sending it again.
 *
 * @module
 */
import type { Principal } from "./credentials.ts";
import type { TeamId } from "../core/ids.ts";
import { SESSION } from "../core/limits.ts";

/** When a session began, and when it was last seen in use. */
export interface SessionTimes {
  /** When somebody signed in, unix milliseconds. */
  readonly startedAt: number;
  /** A use of it, unix milliseconds; the last one may be a little later. */
  readonly usedAt: number;
}

/** Whether a session still holds: used lately, and not begun too long ago. */
export function isSessionLive({ startedAt, usedAt }: SessionTimes, nowMs: number): boolean {
  return nowMs - usedAt < SESSION.idleMs && nowMs - startedAt < SESSION.maxMs;
}

/** Whether a use of it is worth writing down: a write per page would be one too many. */
export function isUseDue({ usedAt }: SessionTimes, nowMs: number): boolean {
  return nowMs - usedAt >= SESSION.idleMs / 24;
}

/** The sessions of all teams. Methods reject with `StorageUnavailable` when the store fails. */
export interface SessionStore {
  /**
   * Begins a session for a credential that works.
   *
   * A credential has a bounded number of them: for one more its oldest ends.
   *
   * @param secret the credential
   * @param team whose it is: teams take turns
   * @returns the token of the session: the secret that stands for it, which is stored nowhere
   */
  start(secret: string, team: TeamId): Promise<string>;
  /**
   * Who a session speaks for; null when it ended, or when its credential does not work any more.
   *
   * @param from names where the request comes from: look-ups take turns by it
   */
  find(token: string, from?: () => string): Promise<Principal | null>;
  /** Ends a session; ending one that is not there changes nothing. */
  end(token: string): Promise<void>;
}
