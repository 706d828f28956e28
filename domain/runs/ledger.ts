/**
 * The ledger of a run's events, which counts each event once.
 *
 * One ledger per run holds the ids stored so far and running totals. A batch is committed by
 * comparing one version, and a finish never reads the events again.
 *
 * @module
 */
import { type EventScores, scoresOfEvents, type ScoreSum } from "./scores.ts";
import type { RunEvent } from "./event.ts";
import { addToPage, type EventIdSet, PACKED_ID_BYTES } from "./event_ids.ts";
import { addEvents, type EventTotals, NO_EVENTS } from "./event_totals.ts";
import { type BatchPrices, priceEvents } from "../pricing/price.ts";
import type { RateCard } from "../pricing/rates.ts";
import { monthOf } from "../core/time.ts";
import type { EventId } from "../core/ids.ts";
import type { StoredTrace } from "./trace_facts.ts";

export { EventIdSet, PACKED_ID_BYTES, packEventIds, unpackEventIds } from "./event_ids.ts";

/** Time span of a stored batch. It lets a page of events be read without reading every batch. */
export interface BatchEntry {
  /** Earliest `ts`, unix milliseconds. */
  readonly tsMin: number;
  /** Latest `ts`, unix milliseconds. */
  readonly tsMax: number;
  /** Arrival of the batch, unix milliseconds. */
  readonly receivedAt: number;
}

/** A page of the ledger. A full page is sealed and never written again. */
export interface LedgerPage {
  /**
   * Ids of the page's events, 17 bytes each; see `packEventIds`. Empty on pages after the first
   * {@link ID_PAGES_MAX}.
   */
  readonly ids: Uint8Array;
  /** The page's batches in order of arrival. */
  readonly batches: readonly BatchEntry[];
}

/** Index entry of a sealed page. It lets batches be found without reading other pages. */
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
  /** Number of sealed pages. */
  readonly sealed: number;
  /** Number of batches ever stored; also the number of the next batch. */
  readonly batches: number;
  /** The open page. */
  readonly tail: LedgerPage;
  /** Totals over all events. */
  readonly totals: EventTotals;
  /** Number of repricings; 0 means that no batch has prices of its own. */
  readonly repricings: number;
  /** Number of batches removed by retention, counted from the first. */
  readonly removed: number;
  /** Arrival of the oldest batch not removed, unix milliseconds; null if there is none. */
  readonly oldestAt: number | null;
  /** Earliest arrival of a batch, removed or not, unix milliseconds; null if there is none. */
  readonly firstAt: number | null;
  /** Latest arrival of a batch, removed or not, unix milliseconds; null if there is none. */
  readonly latestAt: number | null;
  /** Number of events not removed, by month of arrival, `YYYY-MM`. */
  readonly months: Readonly<Record<string, number>>;
  /** Aggregate of the scores added to the run; absent for none. */
  readonly scores?: ScoreSum;
  /** Facts of the spans of a trace; absent for none. */
  readonly trace?: StoredTrace;
}

/** Arrival times in a run's ledger, by which retention decides what expires. */
export type LedgerAges = Pick<EventLedger, "oldestAt" | "latestAt" | "scores" | "trace">;

/** Maximum ids per page. It is small, because each batch rewrites the open page. */
export const PAGE_IDS_MAX = 256;

/**
 * Maximum pages that hold ids: about 32,000 ids, read in about 10 ms. Ids of later events get a row
 * each and are looked up, so neither memory nor read time grows with the run.
 */
export const ID_PAGES_MAX = 128;

/** Maximum batches per page that holds no ids. */
export const PAGE_BATCHES_MAX = 256;

/**
 * Maximum payload characters of one stored batch: to compress more would block other calls too long.
 * A larger batch is stored as several, in one commit.
 */
export const BATCH_CHARS_MAX = 1_048_576;

/** The empty ledger. */
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

/** Events that are stored together, with their prices. */
export interface NewBatch {
  /** Events in the order sent. */
  readonly events: readonly RunEvent[];
  /** Their prices, in the same order. */
  readonly prices: BatchPrices;
}

/** Result of appending a batch. */
export interface AppendDecision {
  /** Events to store, in the order sent. If empty, nothing is written. */
  readonly fresh: readonly RunEvent[];
  /** Number of events stored earlier, or repeated in the batch (decision 20). */
  readonly duplicates: number;
  /** Scores among the new events. */
  readonly scores: EventScores;
  /** The new events as the ledger numbers them: one batch, several if it is large. */
  readonly batches: readonly NewBatch[];
  /** The ledger to write. */
  readonly ledger: EventLedger;
  /** Page to seal if this batch fills it. */
  readonly sealedPage: LedgerPage | null;
  /** Ids to store in rows of their own, because the id pages are full. */
  readonly rowIds: readonly EventId[];
}

/** Ids that are already stored. */
export type KnownIds = Pick<EventIdSet, "isEmpty" | "has">;

/** Returns whether the ledger's next event ids get a row each. */
export function hasRowIds({ sealed }: Pick<EventLedger, "sealed">): boolean {
  return sealed >= ID_PAGES_MAX;
}

/**
 * Decides a batch against the ids stored so far: each id counts once, and the first event wins
 * (decisions 19 to 21).
 *
 * @param stored ids of the ledger's sealed pages, and ids of this batch that have a row
 * @param pricing the card that prices model calls, or the prices of a batch that was stored before
 */
export function decideAppend(
  ledger: EventLedger,
  stored: KnownIds,
  batch: readonly RunEvent[],
  receivedAt: number,
  pricing: RateCard | BatchPrices,
): AppendDecision {
  const { tail } = ledger;
  const candidates = stored.isEmpty ? batch : batch.filter(({ id }) => !stored.has(id));
  const { page: packed, fresh } = addToPage(tail.ids, candidates);
  const duplicates = batch.length - fresh.length;
  if (fresh.length === 0) {
    const scores = { added: [], dropped: 0, sum: ledger.scores };
    return { fresh, duplicates, scores, batches: [], ledger, sealedPage: null, rowIds: [] };
  }

  const inRows = hasRowIds(ledger);
  const ids = inRows ? tail.ids : packed;
  const batches = "costs" in pricing
    ? [{ events: fresh, prices: pricing }]
    : splitBatch(fresh).map((events) => ({ events, prices: priceEvents(events, pricing) }));
  const entries = batches.map(({ events }) => entryOf(events, receivedAt));
  const page = { ids, batches: [...tail.batches, ...entries] };
  const full = inRows
    ? page.batches.length >= PAGE_BATCHES_MAX
    : ids.length >= PAGE_IDS_MAX * PACKED_ID_BYTES;
  const scores = scoresOfEvents(ledger.scores, fresh, receivedAt);
  const next: EventLedger = {
    ...ledger,
    sealed: ledger.sealed + (full ? 1 : 0),
    batches: ledger.batches + batches.length,
    tail: full ? EMPTY_LEDGER.tail : page,
    totals: batches.reduce(
      (totals, { events, prices }) => addEvents(totals, events, prices),
      ledger.totals,
    ),
    oldestAt: ledger.oldestAt ?? receivedAt,
    // The clock may have been set back; the first and latest arrivals only ever widen.
    firstAt: Math.min(ledger.firstAt ?? receivedAt, receivedAt),
    latestAt: Math.max(ledger.latestAt ?? 0, receivedAt),
    months: addToMonth(ledger.months, monthOf(receivedAt), fresh.length),
    ...scores.sum === undefined ? {} : { scores: scores.sum },
  };
  return {
    fresh,
    duplicates,
    scores,
    batches,
    ledger: next,
    sealedPage: full ? page : null,
    rowIds: inRows ? fresh.map(({ id }) => id) : [],
  };
}

/** Splits events into batches of at most {@link BATCH_CHARS_MAX}; one of nearly every batch. */
function splitBatch(events: readonly RunEvent[]): readonly (readonly RunEvent[])[] {
  const batches: RunEvent[][] = [];
  let chars = Infinity;
  for (const event of events) {
    chars += event.data.length;
    if (chars > BATCH_CHARS_MAX) {
      batches.push([]);
      chars = event.data.length;
    }
    batches.at(-1)?.push(event);
  }
  return batches;
}

/** Returns the index entry of a page whose last batch precedes `endBatch`. */
export function pageEntryOf({ batches }: LedgerPage, endBatch: number): PageEntry {
  const { tsMin, tsMax } = spanOf(batches.flatMap(({ tsMin, tsMax }) => [tsMin, tsMax]));
  return { firstBatch: endBatch - batches.length, tsMin, tsMax };
}

/** Adds to the event count of a month; a month with a count of 0 is left out. */
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
  return { tsMin: Math.min(...instants), tsMax: Math.max(...instants) };
}
