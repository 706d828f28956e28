/**
 * What stands in the place of a deleted run.
 *
 * A tombstone lies at each key that a call of the run would insert. So a retry finds its check lost, as
 * it would for a run that is stored, and no other call ever has to look for one.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunDeletion } from "../../domain/retention/deletion.ts";
import { EMPTY_LEDGER, type EventLedger } from "../../domain/runs/ledger.ts";
import { keys } from "../base/keys.ts";

/** The keys that calls of a run insert. */
export function insertedKeys(team: TeamId, run: RunId): Deno.KvKey[] {
  return [keys.opening(team, run), keys.closing(team, run), keys.ledger(team, run)];
}

/** The tombstone among values read of a run; null where there is none. */
export function tombstoneOf(values: readonly unknown[]): RunDeletion | null {
  const found = values.find((value) => value instanceof Object && "deletedAt" in value);
  return (found ?? null) as RunDeletion | null;
}

/** The ledger at a run's key; an empty one where there is none. */
export function ledgerOf(value: unknown): EventLedger {
  const none = value === null || value === undefined || tombstoneOf([value]) !== null;
  return none ? EMPTY_LEDGER : value as EventLedger;
}

/** Where a deleted run is filed. */
export function tombstoneRow(team: TeamId, { run, deletedAt }: RunDeletion): Deno.KvKey {
  return keys.expiry(team, { horizon: "tombstone", since: deletedAt }, run);
}
