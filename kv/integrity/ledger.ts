/**
 * Verifies a ledger: its pages, their directory and the ids outside of pages.
 *
 * @module
 */
import {
  hasRowIds,
  type LedgerPage,
  PACKED_ID_BYTES,
  pageEntryOf,
} from "../../domain/runs/ledger.ts";
import { keys } from "../base/keys.ts";
import { readDirectory } from "../runs/directory.ts";
import type { LedgerAt } from "../runs/heads.ts";
import { eachRow } from "../store.ts";
import { type Mismatch, mismatch } from "./mismatch.ts";

/**
 * Compares a ledger with its pages and ids. Removed batches are still on the pages, and ids are
 * kept as long as the run.
 *
 * @param months events that are not removed, by month of arrival
 */
export async function verifyLedger(
  run: LedgerAt,
  months: ReadonlyMap<string, number>,
): Promise<Mismatch[]> {
  const { store, team, id, ledger } = run;
  const mismatches: Mismatch[] = [];
  const pageTotals: PageTotals = {
    ids: 0,
    batches: 0,
    firstAt: null,
    latestAt: null,
    oldestAt: null,
  };
  const directory = await readDirectory(run);
  let pages = 0;
  // A page sealed after the ledger was read belongs to a later state.
  const range = keys.firstPages(team, id, ledger.sealed);
  for await (const { value } of eachRow<LedgerPage>(store, range)) {
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

function addPage(pageTotals: PageTotals, { ids, batches }: LedgerPage, removed: number): void {
  pageTotals.ids += ids.length / PACKED_ID_BYTES;
  for (const { receivedAt } of batches) {
    pageTotals.firstAt = Math.min(pageTotals.firstAt ?? receivedAt, receivedAt);
    pageTotals.latestAt = Math.max(pageTotals.latestAt ?? receivedAt, receivedAt);
    if (pageTotals.batches++ >= removed) pageTotals.oldestAt ??= receivedAt;
  }
}
