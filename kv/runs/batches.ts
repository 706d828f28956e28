/**
 * Stored batches of events. An index finds those of a run by the time of their events or by arrival,
 * and reads only the ledger pages that contain them. The directory of a ledger has the bounds of each
 * sealed page.
 *
 * @module
 */
import { type RunEvent, storedFacts } from "../../domain/runs/event.ts";
import type {
  BatchStart,
  EventPosition,
  NumberedBatch,
  PagedEvent,
} from "../../domain/runs/event_page.ts";
import type { BatchEntry, EventLedger, LedgerPage, PageEntry } from "../../domain/runs/ledger.ts";
import { decodeBatch, decodePrices, type StoredBatch } from "../base/codec.ts";
import { GET_MANY_KEYS_MAX } from "../base/limits.ts";
import { groupsOf } from "../base/reads.ts";
import { keys } from "../base/keys.ts";
import { getMany, getValue, listRows, readBlob } from "../store.ts";
import { NO_PRICES } from "../../domain/pricing/price.ts";
import type { KvSet } from "../writer/group.ts";
import type { RunRef, RunWithLedger } from "./heads.ts";

/** A page that was not read yet, and the batches it may contain. */
interface ClosedPage extends PageEntry {
  readonly page: number;
  readonly lastBatch: number;
}

/** Order and filter of batches. */
interface Order {
  /** 1 for ascending order, -1 for descending order. */
  readonly sign: 1 | -1;
  /** Returns a bound: no batch of the page sorts before it. */
  readonly boundOf: (page: ClosedPage) => BatchStart;
  /** Returns whether a page or batch with this end is needed. */
  readonly isWanted: (end: BatchStart) => boolean;
}

/** Index of the batches in one state of a ledger, without removed ones. */
export class BatchIndex {
  readonly #run: RunWithLedger;
  /** Sealed pages with a batch that is not removed, in order of arrival. */
  readonly #pages: readonly ClosedPage[];

  private constructor(run: RunWithLedger, pages: readonly PageEntry[]) {
    this.#run = run;
    const { batches, tail, removed } = run.ledger;
    const tailStart = batches - tail.batches.length;
    this.#pages = pages
      .map((entry, page) => ({
        ...entry,
        page,
        lastBatch: (pages[page + 1]?.firstBatch ?? tailStart) - 1,
      }))
      .filter(({ lastBatch }) => lastBatch >= removed);
  }

  /** Reads the directory of a ledger. */
  static async read(run: RunWithLedger): Promise<BatchIndex> {
    return new BatchIndex(run, await readDirectory(run));
  }

  /** Yields batches ordered by start, without batches that end before a position. */
  byStart(after: EventPosition | null): AsyncGenerator<NumberedBatch> {
    return this.#merge({
      sign: 1,
      boundOf: ({ tsMin, firstBatch }) => ({ ts: tsMin, batch: firstBatch }),
      isWanted: (end) => after === null || compareStarts(end, after) >= 0,
    });
  }

  /** Yields batches ordered by start, latest first. */
  byStartFalling(): AsyncGenerator<NumberedBatch> {
    return this.#merge({
      sign: -1,
      boundOf: ({ tsMax, lastBatch }) => ({ ts: tsMax, batch: lastBatch }),
      isWanted: () => true,
    });
  }

  /** Yields batches in order of arrival. */
  async *byArrival(): AsyncGenerator<NumberedBatch> {
    for (const page of this.#pages) yield* await this.#open(page);
    yield* this.#tail();
  }

  /** Merges batches of open pages, reading a page once it may contain the next batch. */
  async *#merge({ sign, boundOf, isWanted }: Order): AsyncGenerator<NumberedBatch> {
    const wanted = ({ tsMax, batch }: NumberedBatch) => isWanted({ ts: tsMax, batch });
    // Both lists are sorted so that their next element is the last.
    const closed = this.#pages
      .filter(({ tsMax, lastBatch }) => isWanted({ ts: tsMax, batch: lastBatch }))
      .sort((a, b) => sign * compareStarts(boundOf(b), boundOf(a)));
    const byStart = (a: NumberedBatch, b: NumberedBatch) =>
      sign * compareStarts(startOf(b), startOf(a));
    const open = this.#tail().filter(wanted).sort(byStart);
    for (;;) {
      const [page, next] = [closed.at(-1), open.at(-1)];
      if (page === undefined && next === undefined) return;
      const isPageNext = page !== undefined &&
        (next === undefined || sign * compareStarts(boundOf(page), startOf(next)) <= 0);
      if (isPageNext) {
        closed.pop();
        open.push(...(await this.#open(page)).filter(wanted));
        open.sort(byStart);
      } else {
        open.pop();
        yield next as NumberedBatch;
      }
    }
  }

  async #open({ page, firstBatch }: ClosedPage): Promise<NumberedBatch[]> {
    const { store, team, id } = this.#run;
    // A deleted page has no batches.
    const stored = await getValue<LedgerPage>(store, keys.page(team, id, page));
    return this.#numbered(stored?.batches ?? [], firstBatch);
  }

  #tail(): NumberedBatch[] {
    const { tail: { batches }, batches: end } = this.#run.ledger;
    return this.#numbered(batches, end - batches.length);
  }

  #numbered(entries: readonly BatchEntry[], first: number): NumberedBatch[] {
    return entries.map((entry, i) => ({ ...entry, batch: first + i }))
      .filter(({ batch }) => batch >= this.#run.ledger.removed);
  }
}

export function startOf({ tsMin, batch }: NumberedBatch): BatchStart {
  return { ts: tsMin, batch };
}

function compareStarts(a: BatchStart, b: BatchStart): number {
  return a.ts - b.ts || a.batch - b.batch;
}

/** Pages per row; a row is rewritten once for each of them. */
const PAGES_PER_ROW = 64;

/** Entries of pages as stored, which the next sealed page is added to. A tuple is half as large as an object. */
export type DirectoryRow = readonly (readonly [
  firstBatch: number,
  tsMin: number,
  tsMax: number,
])[];

/** Reads the row that the ledger's next sealed page is appended to. */
export async function readOpenRow(
  { store, team, id }: RunRef,
  { sealed }: Pick<EventLedger, "sealed">,
): Promise<DirectoryRow> {
  const count = sealed % PAGES_PER_ROW;
  if (count === 0) return [];
  const key = keys.directoryRow(team, id, Math.floor(sealed / PAGES_PER_ROW));
  const row = await getValue<DirectoryRow>(store, key);
  // A longer row was written by another writer; this ledger's commit then conflicts.
  return (row ?? []).slice(0, count);
}

/** Returns the set that adds a page to the directory, and the row for the next page. */
export function addToRow(
  { team, id }: Pick<RunRef, "team" | "id">,
  page: number,
  row: DirectoryRow,
  { firstBatch, tsMin, tsMax }: PageEntry,
): { readonly set: KvSet; readonly next: DirectoryRow } {
  const value = [...row, [firstBatch, tsMin, tsMax] as const];
  const set = { key: keys.directoryRow(team, id, Math.floor(page / PAGES_PER_ROW)), value };
  return { set, next: value.length === PAGES_PER_ROW ? [] : value };
}

/** Reads the entries of a ledger's sealed pages, in order. */
export async function readDirectory(
  { store, team, id, ledger: { sealed } }: RunWithLedger,
): Promise<PageEntry[]> {
  if (sealed === 0) return [];
  const rows = await listRows<DirectoryRow>(store, { prefix: keys.directory(team, id) });
  const entries = rows.flatMap(({ value }) => value);
  // A page sealed after the ledger was read belongs to a later state.
  return entries.slice(0, sealed).map(([firstBatch, tsMin, tsMax]) => ({
    firstBatch,
    tsMin,
    tsMax,
  }));
}

/**
 * Reads batches by their numbers; a missing one has no events. Each is decompressed only when the
 * caller reaches it, because a batch of a few bytes may contain a MiB of text.
 */
export async function* readBatches(
  { store, team, id, ledger }: RunWithLedger,
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
      if (text === null) yield { events: [], prices: NO_PRICES };
      else yield decodeBatch(text, repriced === null ? undefined : decodePrices(repriced));
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
