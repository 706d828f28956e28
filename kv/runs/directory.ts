/**
 * The directory of a ledger: where each sealed page lies, in a row for each 64 pages.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { EventLedger, LedgerPage, PageEntry } from "../../domain/runs/ledger.ts";
import { keys } from "../base/keys.ts";
import { getValue, listRows, type Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";

/** Where a run is. */
export interface RunAt {
  /** Where it is stored. */
  readonly store: Store;
  /** Whose it is. */
  readonly team: TeamId;
  /** The run. */
  readonly id: RunId;
}

/** Pages of one row: it is rewritten once for each of them. */
const PAGES_PER_ROW = 64;

/** A page as a row holds it: without names it is half as large. */
export type StoredEntry = readonly [firstBatch: number, tsMin: number, tsMax: number];

/** The row of a directory that the next sealed page goes to. */
export type DirectoryRow = readonly StoredEntry[];

/** Reads the row that the next sealed page of a ledger goes to. */
export async function readOpenRow(
  { store, team, id }: RunAt,
  { sealed }: Pick<EventLedger, "sealed">,
): Promise<DirectoryRow> {
  const count = sealed % PAGES_PER_ROW;
  if (count === 0) return [];
  const key = keys.directoryRow(team, id, Math.floor(sealed / PAGES_PER_ROW));
  const row = await getValue<StoredEntry[]>(store, key);
  // A row that another writer went on with is of a ledger that loses its check.
  return (row ?? []).slice(0, count);
}

/** Returns what stores where a page lies, and the row that the next page goes to. */
export function addToRow(
  { team, id }: RunAt,
  page: number,
  row: DirectoryRow,
  { firstBatch, tsMin, tsMax }: PageEntry,
): { readonly set: KvSet; readonly next: DirectoryRow } {
  const value = [...row, [firstBatch, tsMin, tsMax] as const];
  const set = { key: keys.directoryRow(team, id, Math.floor(page / PAGES_PER_ROW)), value };
  return { set, next: value.length === PAGES_PER_ROW ? [] : value };
}

/** Reads where the sealed pages of a ledger lie, in order. */
export async function readDirectory(
  { store, team, id }: RunAt,
  { sealed }: Pick<EventLedger, "sealed">,
): Promise<PageEntry[]> {
  if (sealed === 0) return [];
  const rows = await listRows<StoredEntry[]>(store, { prefix: keys.directory(team, id) });
  const entries = rows.flatMap(({ value }) => value);
  // A page sealed after the ledger was read belongs to a later state than the one being answered.
  return entries.slice(0, sealed).map(([firstBatch, tsMin, tsMax]) => ({
    firstBatch,
    tsMin,
    tsMax,
  }));
}

/** Reads a sealed page; one that is gone has nothing. */
export async function readDirectoryPage(
  { store, team, id }: RunAt,
  page: number,
): Promise<LedgerPage> {
  const stored = await getValue<LedgerPage>(store, keys.page(team, id, page));
  return stored ?? { ids: new Uint8Array(), batches: [] };
}
