/**
 * Events and the ledger that counts each of them once.
 *
 * One ledger per run holds the ids stored so far and running totals, so that a batch is settled by
 * comparing one version, and a finish never reads the events again.
 *
 * @module
 */
import { type EventScores, scoresOfEvents, type ScoreSum } from "./added_scores.ts";
import type { RunEvent } from "./event.ts";
import { addToPage, PACKED_ID_BYTES } from "./event_ids.ts";
import { addEvents, type EventTotals, NO_EVENTS } from "./event_totals.ts";
import { type BatchPrices, NO_PRICES, priceEvents } from "../pricing/price_events.ts";
import type { RateCard } from "../pricing/rates.ts";
import { monthOf } from "../core/time.ts";
import type { EventId } from "../core/ids.ts";

export { EventIdSet, PACKED_ID_BYTES, packEventIds, unpackEventIds } from "./event_ids.ts";

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
  /** Ids of the page's events, 17 bytes each; see `packEventIds`. None on pages behind the first ones. */
  readonly ids: Uint8Array;
  /** The page's batches in order of arrival. */
  readonly batches: readonly BatchEntry[];
}

/** Where a sealed page lies: lets batches be found without reading the pages of others. */
export interface PageEntry {
  /** Number of its first batch. */
  readonly firstBatch: number;
  /** Earliest `ts`, unix milliseconds. */
  readonly tsMin: number;
  /** Latest `ts`, unix milliseconds. */
  readonly tsMax: number;
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
  /** Earliest arrival of a batch, removed or not, unix milliseconds; null when there is none. */
  readonly firstAt: number | null;
  /** Latest arrival of a batch, removed or not, unix milliseconds; null when there is none. */
  readonly latestAt: number | null;
  /** How many events are not removed, by the month of their arrival, `YYYY-MM`. */
  readonly months: Readonly<Record<string, number>>;
  /** The scores that were added to the run; absent for none. */
  readonly scores?: ScoreSum;
}

/** Ids a page holds before it is sealed: small, because each batch rewrites the open page. */
export const PAGE_IDS_MAX = 256;

/**
 * Pages that hold ids, some 32,000: they are read in about 10 ms. The ids of later events are stored a
 * row each and looked up, so that neither memory nor the time to read them grows with the run.
 */
export const ID_PAGES_MAX = 128;

/** Batches a page holds before it is sealed, where it holds no ids. */
export const PAGE_BATCHES_MAX = 256;

/** A ledger without events. */
export const EMPTY_LEDGER: EventLedger = {
  sealed: 0,
  batches: 0,
  tail: { ids: new Uint8Array(), batches: [] },
  totals: NO_EVENTS,
  repricings: 0,
  removed: 0,
  oldestAt: null,
  firstAt: null,
  latestAt: null,
  months: {},
};

/** What a batch comes to. */
export interface AppendDecision {
  /** Events to store, in sent order; empty when all are known, and then nothing is written. */
  readonly fresh: readonly RunEvent[];
  /** Events that were stored before, or twice in the batch (decision 20). */
  readonly duplicates: number;
  /** Scores among the fresh events. */
  readonly scores: EventScores;
  /** Prices of the fresh events. */
  readonly prices: BatchPrices;
  /** The ledger to write. */
  readonly ledger: EventLedger;
  /** The page to seal, when this batch fills it. */
  readonly sealedPage: LedgerPage | null;
  /** Ids to store a row each, because pages hold no more. */
  readonly rowIds: readonly EventId[];
}

/** Ids that are known to be stored. */
export interface KnownIds {
  /** Whether none is known. */
  readonly isEmpty: boolean;
  /** Whether an id is known. */
  has(id: EventId): boolean;
}

/** Whether the ids of a ledger's next events are stored a row each. */
export function hasRowIds({ sealed }: Pick<EventLedger, "sealed">): boolean {
  return sealed >= ID_PAGES_MAX;
}

/**
 * Decides a batch against the ids stored so far: each id counts once, the first wins
 * (decisions 19 to 21).
 *
 * @param known the ids of the ledger's sealed pages and, of this batch, those with a row
 * @param card prices the events that are calls
 */
export function decideAppend(
  ledger: EventLedger,
  known: KnownIds,
  batch: readonly RunEvent[],
  receivedAt: number,
  card: RateCard,
): AppendDecision {
  const { tail } = ledger;
  const unknown = known.isEmpty ? batch : batch.filter(({ id }) => !known.has(id));
  const { page: packed, fresh } = addToPage(tail.ids, unknown);
  const duplicates = batch.length - fresh.length;
  if (fresh.length === 0) {
    const scores = { added: [], dropped: 0, sum: ledger.scores };
    return { fresh, duplicates, scores, prices: NO_PRICES, ledger, sealedPage: null, rowIds: [] };
  }

  const inRows = hasRowIds(ledger);
  const ids = inRows ? tail.ids : packed;
  const page = { ids, batches: [...tail.batches, entryOf(fresh, receivedAt)] };
  const full = inRows
    ? page.batches.length >= PAGE_BATCHES_MAX
    : ids.length >= PAGE_IDS_MAX * PACKED_ID_BYTES;
  const prices = priceEvents(fresh, card);
  const scores = scoresOfEvents(ledger.scores, fresh, receivedAt);
  const next: EventLedger = {
    ...ledger,
    sealed: ledger.sealed + (full ? 1 : 0),
    batches: ledger.batches + 1,
    tail: full ? EMPTY_LEDGER.tail : page,
    totals: addEvents(ledger.totals, fresh, prices),
    oldestAt: ledger.oldestAt ?? receivedAt,
    // A clock that was set back makes nothing younger.
    firstAt: Math.min(ledger.firstAt ?? receivedAt, receivedAt),
    latestAt: Math.max(ledger.latestAt ?? 0, receivedAt),
    months: addToMonth(ledger.months, monthOf(receivedAt), fresh.length),
    ...scores.sum === undefined ? {} : { scores: scores.sum },
  };
  return {
    fresh,
    duplicates,
    scores,
    prices,
    ledger: next,
    sealedPage: full ? page : null,
    rowIds: inRows ? fresh.map(({ id }) => id) : [],
  };
}

/** Where a page lies whose last batch is the last one before `endBatch`. */
export function pageEntryOf({ batches }: LedgerPage, endBatch: number): PageEntry {
  const { tsMin, tsMax } = spanOf(batches.flatMap(({ tsMin, tsMax }) => [tsMin, tsMax]));
  return { firstBatch: endBatch - batches.length, tsMin, tsMax };
}

/** Adds to the events of a month; a month without any is left out. */
export function addToMonth(
  months: EventLedger["months"],
  month: string,
  by: number,
): EventLedger["months"] {
  const added = { ...months, [month]: (months[month] ?? 0) + by };
  if (added[month] === 0) delete added[month];
  return added;
}

function entryOf(events: readonly RunEvent[], receivedAt: number): BatchEntry {
  return { ...spanOf(events.map(({ ts }) => ts)), receivedAt };
}

function spanOf(instants: readonly number[]): Pick<BatchEntry, "tsMin" | "tsMax"> {
  let tsMin = Infinity;
  let tsMax = -Infinity;
  for (const ts of instants) {
    if (ts < tsMin) tsMin = ts;
    if (ts > tsMax) tsMax = ts;
  }
  return { tsMin, tsMax };
}
