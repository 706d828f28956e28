/**
 * Stored batches of events, with the prices they have now.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import { storedFacts } from "../../domain/input/parse_events.ts";
import type { PagedEvent } from "../../domain/ports.ts";
import type { RunEvent } from "../../domain/run/event.ts";
import type { EventLedger } from "../../domain/run/ledger.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { decodeBatch, decodePrices, type StoredBatch } from "./codec.ts";
import { keys } from "../keys.ts";
import { getMany, readBlob, type Store } from "../store.ts";

/** Reads batches by their numbers, at most 10; one that is missing has no events. */
export async function readBatches(
  store: Store,
  team: TeamId,
  id: RunId,
  ledger: Pick<EventLedger, "repricings">,
  numbers: readonly number[],
): Promise<StoredBatch[]> {
  const read = async (keyOf: (batch: number) => Deno.KvKey) => {
    const heads = await getMany(store, numbers.map(keyOf));
    return await Promise.all(heads.map(({ value }) => readBlob(store, team, id, value)));
  };
  const texts = await read((batch) => keys.batch(team, id, batch));
  const repriced = ledger.repricings === 0
    ? []
    : await read((batch) => keys.prices(team, id, batch));
  return texts.map((text, i) => {
    const prices = repriced[i] ?? null;
    return decodeBatch(text ?? "{}", prices === null ? undefined : decodePrices(prices));
  });
}

/** A stored event with the facts that sums are made of. */
export function withFacts(event: PagedEvent): RunEvent {
  return { ...event, facts: storedFacts(event.type, event.data) };
}
