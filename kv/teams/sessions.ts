/**
 * Stores dashboard sessions. Each is stored by the hash of its token, with the hash of its
 * credential, so that it ends with the credential. An index by credential and start bounds their
 * number and lets the sweep find expired ones.
 *
 * @module
 */
import {
  isLive,
  isSessionLive,
  isUseDue,
  OPERATOR,
  type Principal,
  type SessionTimes,
} from "../../domain/teams/credentials.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { SlotLimits } from "../../runtime/fair_slots.ts";
import { SESSION, SESSIONS_PER_KEY_MAX } from "../../domain/core/limits.ts";
import type { Environment } from "../../domain/core/environment.ts";
import { inTime } from "../base/retry.ts";
import { keys } from "../base/keys.ts";
import { Reads } from "../base/reads.ts";
import { findEntry, getValue, listRows, rowsAfter, type Store } from "../store.ts";
import { hashOf, markEnded, readSecret, readTeam, SecretLookups } from "./credential_rows.ts";

const TOKEN_BYTES = 32;

/** Format of a token. */
const TOKEN = /^[0-9a-f]{64}$/;

/**
 * Concurrent sign-ins; one per team at a time, because each ends excess sessions. Several processes
 * may exceed the bound by one session each.
 */
const SIGN_INS: SlotLimits = { all: 8, team: 1, waiting: 1_000, teamWaiting: 50 };

/** Rows read per sign-in: exceeds the bound in case several processes exceeded it. */
const ROWS_PER_SIGN_IN = 2 * SESSIONS_PER_KEY_MAX;

/** Sessions checked per sweep step. */
const ROWS_PER_STEP = 200;

/** A session as stored. */
interface StoredSession extends SessionTimes {
  /** SHA-256 of the credential that started the session. */
  readonly credential: Uint8Array;
}

/** Store of all teams' sessions. */
export type SessionStore = ReturnType<typeof createSessionStore>;

/**
 * Creates the store.
 *
 * @param operatorKey the operator's key; null if there is no operator
 */
export function createSessionStore(
  store: Store,
  { now, random }: Environment,
  operatorKey: string | null,
) {
  const operatorHash = operatorKey === null ? null : hashOf(operatorKey).toHex();
  const [lookups, signIns] = [new SecretLookups(store), new Reads(store.deadlines, SIGN_INS)];

  async function start(secret: string): Promise<string> {
    const token = random(TOKEN_BYTES).toHex();
    const hash = hashOf(token);
    const credential = hashOf(secret);
    const nowMs = now();
    const value: StoredSession = { credential, startedAt: nowMs, usedAt: nowMs };
    const earlier = await listRows(
      store,
      { prefix: keys.sessionsOf(credential) },
      { limit: ROWS_PER_SIGN_IN },
    );
    const excess = Math.max(0, earlier.length + 1 - SESSIONS_PER_KEY_MAX);
    await store.writer.commit({
      sets: [
        { key: keys.session(hash), value },
        { key: keys.sessionOf(credential, nowMs, hash), value: true },
      ],
      deletes: earlier.slice(0, excess).flatMap(({ key }) => rowsOf(key)),
    });
    return token;
  }

  async function find(token: string): Promise<Principal | null> {
    const key = keys.session(hashOf(token));
    const entry = await findEntry<StoredSession>(store, key);
    if (entry === null || !isSessionLive(entry.value, now())) return null;
    const principal = await principalOf(entry.value.credential);
    if (principal !== null && isUseDue(entry.value, now())) {
      // The check prevents a session that has ended from being stored again.
      const value: StoredSession = { ...entry.value, usedAt: now() };
      await store.writer.commit({ checks: [entry], sets: [{ key, value }] });
    }
    return principal;
  }

  async function principalOf(hash: Uint8Array): Promise<Principal | null> {
    if (hash.toHex() === operatorHash) return OPERATOR;
    const read = await readSecret(store, hash);
    if (read === null) return null;
    const { id, name, grant, team } = read.value;
    const nowMs = now();
    if (isLive(read.value, nowMs)) {
      return { credentialId: id, credentialName: name, team: await readTeam(store, team), grant };
    }
    markEnded(store, read, nowMs);
    return null;
  }

  /** Reads first, so that an invented token causes no write. */
  async function end(token: string): Promise<void> {
    const hash = hashOf(token);
    const session = await getValue<StoredSession>(store, keys.session(hash));
    if (session === null) return;
    const { credential, startedAt } = session;
    await store.writer.commit({ deletes: rowsOf(keys.sessionOf(credential, startedAt, hash)) });
  }

  return {
    /**
     * Starts a session for a valid credential.
     *
     * The number of sessions per credential is bounded: a further session ends the oldest.
     *
     * @param team owner of the credential; writes are queued fairly by team
     * @returns the session token, a secret that is stored nowhere
     */
    start: (secret: string, team: TeamId) => signIns.run(team, () => start(secret)),
    /**
     * Returns the principal of a session; null if the session ended or its credential is no longer
     * valid.
     *
     * @param from names the client's network; lookups are queued fairly by it
     */
    find: (token: string, from: () => string = () => ""): Promise<Principal | null> =>
      TOKEN.test(token)
        ? lookups.find(hashOf(token), from(), () => find(token))
        : Promise.resolve(null),
    /** Ends a session, so that its token is worth nothing; does nothing for another text. */
    end: (token: string): Promise<void> =>
      TOKEN.test(token) ? inTime(end(token), store.deadlines) : Promise.resolve(),
  };
}

/** Returns both rows of a session from its index row. */
function rowsOf(key: Deno.KvKey): Deno.KvKey[] {
  return [key, keys.session(key[3] as Uint8Array)];
}

/** Deletes expired sessions, one batch per iteration. */
export async function* forgetSessions(store: Store, nowMs: number): AsyncGenerator<void> {
  let last: Deno.KvKey | null = null;
  do {
    const range = rowsAfter(keys.sessions(), last);
    const rows: Deno.KvEntry<unknown>[] = await listRows(store, range, { limit: ROWS_PER_STEP });
    const expired = rows.filter(({ key }) => nowMs - (key[2] as number) >= SESSION.maxMs);
    if (expired.length > 0) {
      await store.writer.commit({ deletes: expired.flatMap(({ key }) => rowsOf(key)) });
    }
    last = rows.at(-1)?.key ?? null;
    yield;
  } while (last !== null);
}
