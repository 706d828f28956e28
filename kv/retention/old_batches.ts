/**
 * Taking the oldest batches of events off a run's ledger.
 *
 * Their ids stay on its pages, so that a retry is still known, and what they came to stays in its totals.
 *
 * @module
 */
import { addEvents, type EventTotals, NO_EVENTS } from "../../domain/runs/event_totals.ts";
import { addToMonth, type BatchEntry, type EventLedger } from "../../domain/runs/ledger.ts";
import { monthOf } from "../../domain/core/time.ts";
import { keys } from "../base/keys.ts";
import { BatchIndex } from "../runs/batch_index.ts";
import { numbersFrom, readBatches, withFacts } from "../runs/batches.ts";
import { decodeSums, encodeSums } from "../base/codec_sums.ts";
import type { RunAt } from "../runs/directory.ts";
import { getAll, getValue, listRows, pieceKeys } from "../store.ts";
import type { Write } from "../writer/write.ts";

/** What removing batches comes to. */
export interface OldBatches {
  /** The ledger without them. */
  readonly ledger: EventLedger;
  /** What they came to, with those removed before. */
  readonly sets: NonNullable<Write["sets"]>;
  /** Their rows. */
  readonly deletes: readonly Deno.KvKey[];
  /** Their events, which stay counted. */
  readonly sums: NonNullable<Write["sums"]>;
  /** How many events. */
  readonly events: number;
}

/**
 * Takes off the batches that arrived before an instant, from the oldest on. Null when there are none.
 *
 * @param rowsMax rows after which the rest is left
 */
export async function takeOldBatches(
  run: RunAt,
  ledger: EventLedger,
  beforeMs: number,
  rowsMax: number,
): Promise<OldBatches | null> {
  if (ledger.oldestAt === null || ledger.oldestAt >= beforeMs) return null;
  const { team, id } = run;
  const { old, next } = await findOld(run, ledger, beforeMs, rowsMax);
  const { deletes, end } = await rowsOf(run, ledger, ledger.removed + old.length, rowsMax);
  const entries = old.slice(0, end - ledger.removed);
  const { totals, months } = await countEvents(run, ledger, entries, end);
  return {
    ledger: {
      ...ledger,
      removed: end,
      oldestAt: (old[entries.length] ?? next)?.receivedAt ?? null,
      months: months.entries().reduce(
        (left, [month, by]) => addToMonth(left, month, -by),
        ledger.months,
      ),
    },
    sets: [{ key: keys.removedTotals(team, id), value: encodeSums(totals) }],
    deletes,
    sums: Array.from(months, ([month, by]) => ({
      key: keys.removedUsage(team, month),
      by: BigInt(by),
    })),
    events: months.values().reduce((sum, by) => sum + by, 0),
  };
}

/** Finds the batches that arrived before an instant, so many at most, and the next one. */
async function findOld(run: RunAt, ledger: EventLedger, beforeMs: number, batchesMax: number) {
  const old: BatchEntry[] = [];
  const index = await BatchIndex.read(run, ledger);
  for await (const entry of index.byArrival()) {
    if (entry.receivedAt >= beforeMs || old.length >= batchesMax) return { old, next: entry };
    old.push(entry);
  }
  return { old, next: null };
}

/** Batches whose further pieces are looked for at once. */
const BATCHES_PER_READ = 10;

/** The rows of batches up to one that is not meant, and which one that became. */
async function rowsOf(
  { store, team, id }: RunAt,
  ledger: EventLedger,
  old: number,
  rowsMax: number,
) {
  const [anyChunk] = await listRows(store, { prefix: keys.chunks(team, id) }, { limit: 1 });
  const deletes: Deno.KvKey[] = [];
  let end = ledger.removed;
  while (end < old && deletes.length < rowsMax) {
    const numbers = numbersFrom(end, Math.min(end + BATCHES_PER_READ, old));
    const batches = numbers.map((batch) => keys.batch(team, id, batch));
    const prices = ledger.repricings === 0
      ? []
      : numbers.map((batch) => keys.prices(team, id, batch));
    deletes.push(...batches, ...prices);
    if (anyChunk !== undefined) {
      deletes.push(...await chunkKeys({ store, team, id }, batches));
      deletes.push(...await chunkKeys({ store, team, id }, prices));
    }
    end += numbers.length;
  }
  return { deletes, end };
}

/** Reads the keys of the further pieces of values. */
export async function chunkKeys(
  { store, team, id }: RunAt,
  heads: readonly Deno.KvKey[],
): Promise<Deno.KvKey[]> {
  const entries = await getAll(store, heads);
  return entries.flatMap(({ value }) => pieceKeys(team, id, value));
}

/**
 * Counts the events of batches up to `end`, with those removed before and by month. They are read only
 * where the ledger cannot tell.
 */
async function countEvents(
  run: RunAt,
  ledger: EventLedger,
  entries: readonly BatchEntry[],
  end: number,
): Promise<{ readonly totals: EventTotals; readonly months: ReadonlyMap<string, number> }> {
  if (end === ledger.batches) {
    return { totals: ledger.totals, months: new Map(Object.entries(ledger.months)) };
  }
  const { store, team, id } = run;
  const months = new Map<string, number>();
  let totals = await readRemovedTotals(run, ledger);
  const numbers = numbersFrom(ledger.removed, end);
  let at = 0;
  for await (const { events, prices } of readBatches(store, team, id, ledger, numbers)) {
    totals = addEvents(totals, events.map(withFacts), prices);
    const month = monthOf(entries[at++]?.receivedAt ?? 0);
    months.set(month, (months.get(month) ?? 0) + events.length);
  }
  return { totals, months };
}

/** What the removed batches of a run had come to. */
export async function readRemovedTotals(
  { store, team, id }: RunAt,
  ledger: EventLedger,
): Promise<EventTotals> {
  if (ledger.removed === 0) return NO_EVENTS;
  const stored = await getValue<Uint8Array>(store, keys.removedTotals(team, id));
  return stored === null ? NO_EVENTS : decodeSums<EventTotals>(stored);
}
