/**
 * Finds batches of a run by the time of their events or by arrival, reading only the ledger pages
 * that contain them.
 *
 * @module
 */
import type { BatchStart, EventPosition, NumberedBatch } from "../../domain/runs/event_page.ts";
import type { BatchEntry, PageEntry } from "../../domain/runs/ledger.ts";
import { readDirectory, readDirectoryPage } from "./directory.ts";
import type { LedgerAt } from "./heads.ts";

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
  readonly #run: LedgerAt;
  /** Sealed pages with a batch that is not removed, in order of arrival. */
  readonly #pages: readonly ClosedPage[];

  private constructor(run: LedgerAt, pages: readonly PageEntry[]) {
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
  static async read(run: LedgerAt): Promise<BatchIndex> {
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
    const { batches } = await readDirectoryPage(this.#run, page);
    return this.#numbered(batches, firstBatch);
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

/** Returns the start of a batch. */
export function startOf({ tsMin, batch }: NumberedBatch): BatchStart {
  return { ts: tsMin, batch };
}

function compareStarts(a: BatchStart, b: BatchStart): number {
  return a.ts - b.ts || a.batch - b.batch;
}
