/**
 * Reads stored batches of events with their current prices.
 *
 * @module
 */
import { type RunEvent, storedFacts } from "../../domain/runs/event.ts";
import type { PagedEvent } from "../../domain/runs/event_page.ts";
import { decodeBatch, decodePrices, type StoredBatch } from "../base/codec.ts";
import { keys } from "../base/keys.ts";
import { GET_MANY_KEYS_MAX } from "../base/limits.ts";
import { groupsOf } from "../base/groups.ts";
import { getMany, readBlob } from "../store.ts";
import type { LedgerAt } from "./heads.ts";

/**
 * Reads batches by their numbers; a missing one has no events. Each is decompressed only when the
 * caller reaches it, because a batch of a few bytes may contain a MiB of text.
 */
export async function* readBatches(
  { store, team, id, ledger }: LedgerAt,
  numbers: readonly number[],
): AsyncGenerator<StoredBatch> {
  for (const group of groupsOf(numbers, GET_MANY_KEYS_MAX)) {
    const heads = await getMany(store, group.map((batch) => keys.batch(team, id, batch)));
    const prices = ledger.repricings === 0
      ? []
      : await getMany(store, group.map((batch) => keys.prices(team, id, batch)));
    for (const [i, { value }] of heads.entries()) {
      const text = await readBlob(store, team, id, value);
      const repriced = await readBlob(store, team, id, prices[i]?.value);
      yield decodeBatch(text ?? "{}", repriced === null ? undefined : decodePrices(repriced));
    }
  }
}

/** Returns the numbers from `start` up to `end`, exclusive. */
export function numbersFrom(start: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, i) => start + i);
}

/** Adds the facts that totals are computed from to a stored event. */
export function withFacts(event: PagedEvent): RunEvent {
  return { ...event, facts: storedFacts(event.type, event.data) };
}
