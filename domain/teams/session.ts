/**
 * Dashboard sessions: a user signs in with a key once and then uses a session token.
 *
 * @module
 */
import type { Principal } from "./credentials.ts";
import type { TeamId } from "../core/ids.ts";
import { SESSION } from "../core/limits.ts";

/** Start and last use of a session. */
export interface SessionTimes {
  /** Time of sign-in, unix milliseconds. */
  readonly startedAt: number;
  /** Last stored use, unix milliseconds; the actual last use may be slightly later. */
  readonly usedAt: number;
}

/** Returns whether a session is within its idle and total lifetime. */
export function isSessionLive({ startedAt, usedAt }: SessionTimes, nowMs: number): boolean {
  return nowMs - usedAt < SESSION.idleMs && nowMs - startedAt < SESSION.maxMs;
}

/** Returns whether a use must be stored. Storing every page view would write too much. */
export function isUseDue({ usedAt }: SessionTimes, nowMs: number): boolean {
  return nowMs - usedAt >= SESSION.idleMs / 24;
}

/** Store of all teams' sessions. Methods reject with `StorageUnavailable` when the store fails. */
export interface SessionStore {
  /**
   * Starts a session for a valid credential.
   *
   * The number of sessions per credential is bounded: a further session ends the oldest.
   *
   * @param secret the credential
   * @param team owner of the credential; writes are queued fairly by team
   * @returns the session token, a secret that is stored nowhere
   */
  start(secret: string, team: TeamId): Promise<string>;
  /**
   * Returns the principal of a session; null if the session ended or its credential is no longer valid.
   *
   * @param from names the client's network; lookups are queued fairly by it
   */
  find(token: string, from?: () => string): Promise<Principal | null>;
  /** Ends a session. Idempotent. */
  end(token: string): Promise<void>;
}
