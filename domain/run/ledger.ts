/**
 * Events and the ledger that counts each of them once.
 *
 * One ledger per run holds the ids stored so far and running totals, so that a batch is settled by
 * comparing one version, and a finish never reads the events again.
 *
 * @module
 */
import type { RunEvent } from "./event.ts";
import { addToPage, PACKED_ID_BYTES } from "./event_ids.ts";
import { addEvents, type EventTotals, NO_EVENTS } from "./event_totals.ts";
import { type BatchPrices, NO_PRICES, priceEvents } from "../money/price_events.ts";
import type { RateCard } from "../money/rates.ts";

export { PACKED_ID_BYTES, packEventIds, unpackEventIds } from "./event_ids.ts";

/** Where a stored batch lies in time: lets a page of events be read without the rest. */
export interface BatchEntry {
  /** Earliest `ts`, unix milliseconds. */
  readonly tsMin: number;
  /** Latest `ts`, unix milliseconds. */
  readonly tsMax: number;
  /** Arrival of the batch, unix milliseconds. */
  readonly receivedAt: number;
}

/** A page of the ledger: once full it is sealed and never written again. */
export interface LedgerPage {
  /** Ids of the page's events, 17 bytes each; see `packEventIds`. */
  readonly ids: Uint8Array;
  /** The page's batches in order of arrival. */
  readonly batches: readonly BatchEntry[];
}

/** What there is of scores that were added to a run. */
export interface ScoreSum {
  /** How many. */
  readonly count: number;
  /** Arrival of the first, unix milliseconds. */
  readonly firstAt: number;
  /** Arrival of the latest, unix milliseconds. */
  readonly latestAt: number;
}

/** The head of a run's event ledger. */
export interface EventLedger {
  /** How many pages are sealed. */
  readonly sealed: number;
  /** How many batches are stored in all; the next one's number. */
  readonly batches: number;
  /** The page that is still being filled. */
  readonly tail: LedgerPage;
  /** Sums over all events. */
  readonly totals: EventTotals;
  /** How often events of it were priced anew; 0 says that no batch has prices of its own. */
  readonly repricings: number;
  /** How many batches, from the first on, were removed because they got too old. */
  readonly removed: number;
  /** Arrival of the oldest batch that is not removed, unix milliseconds; null when there is none. */
  readonly oldestAt: number | null;
  /** Arrival of the latest batch, unix milliseconds; null when there is none. */
  readonly latestAt: number | null;
  /** The scores that were added to the run; absent for none. */
  readonly scores?: ScoreSum;
}

/** Ids a page holds before it is sealed: small, because each batch rewrites the open page. */
export const PAGE_IDS_MAX = 256;

/** A ledger without events. */
export const EMPTY_LEDGER: EventLedger = {
  sealed: 0,
  batches: 0,
  tail: { ids: new Uint8Array(), batches: [] },
  totals: NO_EVENTS,
  repricings: 0,
  removed: 0,
  oldestAt: null,
  latestAt: null,
};

/** What a batch comes to. */
export interface AppendDecision {
  /** Events to store, in sent order; empty when all are known, and then nothing is written. */
  readonly fresh: readonly RunEvent[];
  /** Events that were stored before, or twice in the batch (decision 20). */
  readonly duplicates: number;
  /** Prices of the fresh events. */
  readonly prices: BatchPrices;
  /** The ledger to write. */
  readonly ledger: EventLedger;
  /** The page to seal, when this batch fills it. */
  readonly sealedPage: LedgerPage | null;
}

/**
 * Decides a batch against the ids stored so far: each id counts once, the first wins
 * (decisions 19 to 21).
 *
 * @param card prices the events that are calls
 * @param sealed at least the ids on the ledger's sealed pages; those on the open page are in it
 */
export function decideAppend(
  ledger: EventLedger,
  sealed: ReadonlySet<string>,
  batch: readonly RunEvent[],
  receivedAt: number,
  card: RateCard,
): AppendDecision {
  const unsealed = sealed.size === 0 ? batch : batch.filter(({ id }) => !sealed.has(id));
  const { page: ids, fresh } = addToPage(ledger.tail.ids, unsealed);
  const duplicates = batch.length - fresh.length;
  if (fresh.length === 0) {
    return { fresh, duplicates, prices: NO_PRICES, ledger, sealedPage: null };
  }

  const page = { ids, batches: [...ledger.tail.batches, entryOf(fresh, receivedAt)] };
  const full = ids.length >= PAGE_IDS_MAX * PACKED_ID_BYTES;
  const prices = priceEvents(fresh, card);
  const next: EventLedger = {
    ...ledger,
    sealed: ledger.sealed + (full ? 1 : 0),
    batches: ledger.batches + 1,
    tail: full ? EMPTY_LEDGER.tail : page,
    totals: addEvents(ledger.totals, fresh, prices),
    oldestAt: ledger.oldestAt ?? receivedAt,
    // A clock that was set back makes nothing younger.
    latestAt: Math.max(ledger.latestAt ?? 0, receivedAt),
  };
  return { fresh, duplicates, prices, ledger: next, sealedPage: full ? page : null };
}

function entryOf(events: readonly RunEvent[], receivedAt: number): BatchEntry {
  let tsMin = Infinity;
  let tsMax = -Infinity;
  for (const { ts } of events) {
    if (ts < tsMin) tsMin = ts;
    if (ts > tsMax) tsMax = ts;
  }
  return { tsMin, tsMax, receivedAt };
}
