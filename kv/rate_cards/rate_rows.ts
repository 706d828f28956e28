/**
 * Rows of a rate card: one per own rate, and one whose version is the version of the card.
 *
 * @module
 */
import type { OwnRate } from "../../domain/pricing/rate_card.ts";
import { getEntry, listRows, type Store } from "../store.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { keys } from "../base/keys.ts";
import type { RateRow } from "../../domain/pricing/rates.ts";
import { createHash } from "node:crypto";

/** A team's own rows at one version; the version is null before the first row. */
export interface OwnRates {
  readonly rates: readonly OwnRate[];
  readonly version: string | null;
}

/**
 * Reads all own rows at one version. The runtime reads a list in several steps, so it is valid only
 * if the version did not change meanwhile.
 */
export async function readRates(store: Store, team: TeamId): Promise<OwnRates> {
  let before = await versionOf(store, team);
  return await untilCommitted("read a rate card", async () => {
    const version = before;
    if (version === null) return { rates: [], version };
    const entries = await listRows(store, { prefix: keys.rates(team) });
    before = await versionOf(store, team);
    if (before !== version) return LOST;
    return { rates: entries.map(({ value }) => value as OwnRate).sort(byName), version };
  });
}

export async function versionOf(store: Store, team: TeamId): Promise<string | null> {
  return (await getEntry(store, keys.rates(team))).versionstamp;
}

/** Orders rows by model, provider and date. */
function byName({ row: a }: OwnRate, { row: b }: OwnRate): number {
  return compare(a.model, b.model) || compare(a.provider ?? "", b.provider ?? "") ||
    compare(a.from ?? -1, b.from ?? -1);
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Returns the hash that identifies a row in its key. It ignores case, as matching does; the names
 * are hashed because two of maximum length would not fit a key.
 */
export function nameOf({ provider, model, from }: Pick<RateRow, "provider" | "model" | "from">) {
  const name = JSON.stringify([provider?.toLowerCase() ?? null, model.toLowerCase(), from]);
  return new Uint8Array(createHash("sha256").update(name).digest());
}
