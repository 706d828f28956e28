/**
 * Verifies a ledger: its pages, their directory and the ids outside of pages.
 *
 * @module
 */
import {
  type EventLedger,
  hasRowIds,
  type LedgerPage,
  PACKED_ID_BYTES,
  pageEntryOf,
} from "../../domain/runs/ledger.ts";
import { keys } from "../base/keys.ts";
import { readDirectory, type RunAt } from "../runs/directory.ts";
import { eachRow } from "../store.ts";
import { type Mismatch, mismatch } from "./mismatch.ts";

/**
 * Compares a ledger with its pages and ids. Removed batches are still on the pages, and ids are
 * kept as long as the run.
 *
 * @param months events that are not removed, by month of arrival
 */
export async function verifyLedger(
  run: RunAt,
  ledger: EventLedger,
  months: ReadonlyMap<string, number>,
): Promise<Mismatch[]> {
  const { store, team, id } = run;
  const mismatches: Mismatch[] = [];
  const pageTotals = {
    ids: 0,
    batches: 0,
    firstAt: null,
    latestAt: null,
    oldestAt: null,
  } as PageTotals;
  const directory = await readDirectory(run, ledger);
  let pages = 0;
  for await (const { value } of sealedPages(run, ledger)) {
    addPage(pageTotals, value, ledger.removed);
    const entry = pageEntryOf(value, pageTotals.batches);
    mismatches.push(
      ...mismatch(`directory of page ${pages} of ${id}`, { ...entry }, { ...directory[pages] }),
    );
    pages++;
  }
  addPage(pageTotals, ledger.tail, ledger.removed);
  if (hasRowIds(ledger)) {
    for await (const _ of eachRow(store, { prefix: keys.eventIds(team, id) })) pageTotals.ids++;
  }
  const { batches, firstAt, latestAt, oldestAt, sealed, totals } = ledger;
  const expected = { ...pageTotals, pages, ...Object.fromEntries(months) };
  const stored = { ids: totals.events, batches, firstAt, latestAt, oldestAt, pages: sealed };
  return [
    ...mismatches,
    ...mismatch(`ledger of ${id}`, expected, { ...stored, ...ledger.months }),
  ];
}

/** Totals of a ledger's pages. */
interface PageTotals {
  ids: number;
  batches: number;
  firstAt: number | null;
  latestAt: number | null;
  oldestAt: number | null;
}

async function* sealedPages(
  { store, team, id }: RunAt,
  { sealed }: EventLedger,
): AsyncGenerator<Deno.KvEntry<LedgerPage>> {
  // A page sealed after the ledger was read belongs to a later state.
  if (sealed > 0) yield* eachRow<LedgerPage>(store, keys.firstPages(team, id, sealed));
}

function addPage(pageTotals: PageTotals, { ids, batches }: LedgerPage, removed: number): void {
  pageTotals.ids += ids.length / PACKED_ID_BYTES;
  for (const { receivedAt } of batches) {
    pageTotals.firstAt = Math.min(pageTotals.firstAt ?? receivedAt, receivedAt);
    pageTotals.latestAt = Math.max(pageTotals.latestAt ?? receivedAt, receivedAt);
    if (pageTotals.batches++ >= removed) pageTotals.oldestAt ??= receivedAt;
  }
}
