/**
 * Marking rotated credentials that have ended, so that a clock that is set back does not revive them.
 *
 * @module
 */
import { nextSweepClock } from "../../domain/retention/sweep.ts";
import { keys } from "../base/keys.ts";
import { outsideScope } from "../base/read_scope.ts";
import { getValue, type Store } from "../store.ts";
import type { ReadCredential } from "./credential_rows.ts";

/**
 * Marks a credential that was refused because its end has passed; whoever was refused does not wait for
 * it. What fails is done with the next refusal.
 *
 * The mark cannot be taken back, so a clock that is wrong must not set it: it is set only for an end that
 * the clock of sweeps, which moves by bounded steps, could reach by now as well.
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
