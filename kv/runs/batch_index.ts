/**
 * Finding batches of a run by when their events happened or when they arrived, reading only those pages
 * of the ledger that they are on.
 *
 * @module
 */
import type { BatchStart, EventPosition, NumberedBatch } from "../../domain/runs/event_page.ts";
import type { BatchEntry, EventLedger, PageEntry } from "../../domain/runs/ledger.ts";
import { readDirectory, readDirectoryPage, type RunAt } from "./directory.ts";

/** A page that is not read yet, and the batches it may hold. */
interface ClosedPage extends PageEntry {
  readonly page: number;
  readonly lastBatch: number;
}

/** What says in which order batches are wanted. */
interface Order {
  /** 1 for rising order, -1 for falling order. */
  readonly sign: 1 | -1;
  /** The place that no batch of a page comes before. */
  readonly boundOf: (page: ClosedPage) => BatchStart;
  /** Whether anything is wanted of a page or a batch that ends so. */
  readonly isWanted: (end: BatchStart) => boolean;
}

/** Where the batches of one state of a ledger lie. Those that are removed are left out. */
export class BatchIndex {
  readonly #run: RunAt;
  readonly #ledger: EventLedger;
  /** Sealed pages with a batch that is not removed, in order of arrival. */
  readonly #pages: readonly ClosedPage[];

  private constructor(run: RunAt, ledger: EventLedger, pages: readonly PageEntry[]) {
    this.#run = run;
    this.#ledger = ledger;
    const tailStart = ledger.batches - ledger.tail.batches.length;
    this.#pages = pages
      .map((entry, page) => ({
        ...entry,
        page,
        lastBatch: (pages[page + 1]?.firstBatch ?? tailStart) - 1,
      }))
      .filter(({ lastBatch }) => lastBatch >= ledger.removed);
  }

  /** Reads the directory of a ledger. */
  static async read(run: RunAt, ledger: EventLedger): Promise<BatchIndex> {
    return new BatchIndex(run, ledger, await readDirectory(run, ledger));
  }

  /** Yields batches in the order in which they begin, without those that end before a position. */
  byStart(after: EventPosition | null): AsyncGenerator<NumberedBatch> {
    return this.#walk({
      sign: 1,
      boundOf: ({ tsMin, firstBatch }) => ({ ts: tsMin, batch: firstBatch }),
      isWanted: (end) => after === null || compareStarts(end, after) >= 0,
    });
  }

  /** Yields batches from the one that begins last to the one that begins first. */
  byStartFalling(): AsyncGenerator<NumberedBatch> {
    return this.#walk({
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

  /** Merges what is read of pages, opening one as soon as it may hold the next batch. */
  async *#walk({ sign, boundOf, isWanted }: Order): AsyncGenerator<NumberedBatch> {
    const wanted = ({ tsMax, batch }: NumberedBatch) => isWanted({ ts: tsMax, batch });
    // The next of both is the last one.
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
    const { batches } = await readDirectoryPage(this.#run, page);
    return this.#numbered(batches, firstBatch);
  }

  #tail(): NumberedBatch[] {
    const { tail: { batches }, batches: end } = this.#ledger;
    return this.#numbered(batches, end - batches.length);
  }

  #numbered(entries: readonly BatchEntry[], first: number): NumberedBatch[] {
    return entries.map((entry, i) => ({ ...entry, batch: first + i }))
      .filter(({ batch }) => batch >= this.#ledger.removed);
  }
}

/** Returns where a batch begins. */
export function startOf({ tsMin, batch }: NumberedBatch): BatchStart {
  return { ts: tsMin, batch };
}

function compareStarts(a: BatchStart, b: BatchStart): number {
  return a.ts - b.ts || a.batch - b.batch;
}
