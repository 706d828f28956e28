/**
 * The rows of a rate card: one for each own rate, and one whose version is that of the card.
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

/** A team's own rows at one version; null before the first. */
export interface OwnRates {
  readonly rates: readonly OwnRate[];
  readonly version: string | null;
}

/**
 * Reads all own rows of one version. A list is read in several steps between which rows may change,
 * and it counts only if they have not.
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

/** The order rows are listed in: by model, provider and date. */
function byName({ row: a }: OwnRate, { row: b }: OwnRate): number {
  return compare(a.model, b.model) || compare(a.provider ?? "", b.provider ?? "") ||
    compare(a.from ?? -1, b.from ?? -1);
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * What names a row in its key. Names are matched whatever their case, so case makes no other row; they
 * are hashed because two of the longest would not fit a key.
 */
export function nameOf({ provider, model, from }: Pick<RateRow, "provider" | "model" | "from">) {
  const name = JSON.stringify([provider?.toLowerCase() ?? null, model.toLowerCase(), from]);
  return new Uint8Array(createHash("sha256").update(name).digest());
}
