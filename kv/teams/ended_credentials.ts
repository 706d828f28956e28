/**
 * Marks expired rotated credentials, so that setting a clock back does not revive them.
 *
 * @module
 */
import { nextSweepClock } from "../../domain/retention/sweep.ts";
import { keys } from "../base/keys.ts";
import { outsideScope } from "../base/read_scope.ts";
import { getValue, type Store } from "../store.ts";
import type { ReadCredential } from "./credential_rows.ts";

/**
 * Marks a credential that was refused because it has expired. The refused request does not wait
 * for the mark; a failed mark is retried by the next refusal.
 *
 * The mark is permanent, so a wrong clock must not set it. It is set only if the sweep clock, which
 * advances in bounded steps, could have reached the expiry as well.
 */
export function markEnded(store: Store, read: ReadCredential, nowMs: number): void {
  outsideScope(() => tryMark(store, read, nowMs)).catch(() => {});
}

async function tryMark(
  store: Store,
  { key, stored, version }: ReadCredential,
  nowMs: number,
): Promise<void> {
  const { endsAt = Infinity, revokedAt, hasEnded = false } = stored;
  if (revokedAt !== null || hasEnded || endsAt > nowMs) return;
  const clockMs = await getValue<number>(store, keys.sweepClock());
  if (clockMs === null || endsAt > nextSweepClock(clockMs, nowMs)) return;
  await store.writer.commit({
    team: stored.team,
    checks: [{ key, versionstamp: version }],
    sets: [{ key, value: { ...stored, hasEnded: true } }],
  });
}
