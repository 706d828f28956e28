/**
 * The dashboard's sessions in the store: each by the hash of its token, with the hash of its credential,
 * so that it ends with the credential.
 *
 * @module
 */
import { isLive, OPERATOR, type Principal } from "../../domain/credentials.ts";
import { SESSION } from "../../domain/limits.ts";
import type { Environment } from "../../domain/ports.ts";
import {
  isSessionLive,
  isUseDue,
  type SessionStore,
  type SessionTimes,
} from "../../domain/teams/session.ts";
import { inTime } from "../deadline.ts";
import { keys } from "../keys.ts";
import { getMany, type Store } from "../store.ts";
import { hashOf, readTeam, type StoredCredential } from "./credential_rows.ts";

/** Random bytes of a token. */
const TOKEN_BYTES = 32;

/** A session as stored. */
interface StoredSession extends SessionTimes {
  /** SHA-256 of the credential that it was begun with. */
  readonly credential: Uint8Array;
}

/**
 * Creates the store.
 *
 * @param operatorKey the operator's key; null where there is no operator
 */
export function createSessionStore(
  store: Store,
  { now, random }: Environment,
  operatorKey: string | null,
): SessionStore {
  const operatorHash = operatorKey === null ? null : hashOf(operatorKey).toHex();

  async function start(secret: string): Promise<string> {
    const token = random(TOKEN_BYTES).toHex();
    const nowMs = now();
    const value: StoredSession = { credential: hashOf(secret), startedAt: nowMs, usedAt: nowMs };
    const key = keys.session(hashOf(token));
    await store.writer.commit({ sets: [{ key, value, expireIn: SESSION.maxMs }] });
    return token;
  }

  async function find(token: string): Promise<Principal | null> {
    const key = keys.session(hashOf(token));
    const [entry] = await getMany(store, [key]);
    const session = (entry?.value ?? null) as StoredSession | null;
    if (session === null || !isSessionLive(session, now())) return null;
    const principal = await principalOf(session.credential);
    if (principal !== null && isUseDue(session, now())) {
      await noteUse(key, session, entry?.versionstamp ?? null);
    }
    return principal;
  }

  async function principalOf(hash: Uint8Array): Promise<Principal | null> {
    if (hash.toHex() === operatorHash) return OPERATOR;
    const [entry] = await getMany(store, [keys.credential(hash)]);
    const stored = (entry?.value ?? null) as StoredCredential | null;
    if (stored === null || !isLive(stored, now())) return null;
    const { id, grant } = stored;
    return { credentialId: id, team: await readTeam(store, stored.team), grant };
  }

  /** Its check keeps a session that was ended meanwhile from coming back. */
  async function noteUse(key: Deno.KvKey, session: StoredSession, versionstamp: string | null) {
    const nowMs = now();
    const value: StoredSession = { ...session, usedAt: nowMs };
    const expireIn = session.startedAt + SESSION.maxMs - nowMs;
    const checks = [{ key, versionstamp }];
    await store.writer.commit({ checks, sets: [{ key, value, expireIn }] });
  }

  async function end(token: string): Promise<void> {
    await store.writer.commit({ deletes: [keys.session(hashOf(token))] });
  }

  const within = <T>(work: Promise<T>) => inTime(work, store.deadlines);
  return {
    start: (secret) => within(start(secret)),
    find: (token) => within(find(token)),
    end: (token) => within(end(token)),
  };
}
