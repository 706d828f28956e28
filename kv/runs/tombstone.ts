/**
 * Tombstones of deleted runs.
 *
 * A tombstone is stored at each key that a request of the run would insert. So a retry conflicts,
 * as it would for an existing run, and no other request has to check for tombstones.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunDeletion } from "../../domain/retention/retention.ts";
import { EMPTY_LEDGER, type EventLedger } from "../../domain/runs/ledger.ts";
import { keys } from "../base/keys.ts";
import { decodeLedger } from "../base/codec_sums.ts";

/** Returns the keys that requests of a run insert. */
export function insertedKeys(team: TeamId, run: RunId): Deno.KvKey[] {
  return [keys.opening(team, run), keys.closing(team, run), keys.ledger(team, run)];
}

/** Returns the tombstone among the values of a run; null if there is none. */
export function tombstoneOf(values: readonly unknown[]): RunDeletion | null {
  const tombstone = values.find((value) => value instanceof Object && "deletedAt" in value);
  return (tombstone ?? null) as RunDeletion | null;
}

/** Returns the ledger at a run's key; an empty one if there is none, or a tombstone. */
export function ledgerOf(value: unknown): EventLedger {
  return value instanceof Uint8Array ? decodeLedger(value) : EMPTY_LEDGER;
}

/** Returns the expiry row of a deleted run. */
export function tombstoneRow(team: TeamId, { run, deletedAt }: RunDeletion): Deno.KvKey {
  return keys.entry(keys.expiryOrder(team, "tombstone"), deletedAt, run);
}
