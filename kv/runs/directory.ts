/**
 * Directory of a ledger: the bounds of each sealed page, with 64 pages per row.
 *
 * @module
 */
import type { EventLedger, LedgerPage, PageEntry } from "../../domain/runs/ledger.ts";
import { keys } from "../base/keys.ts";
import { getValue, listRows } from "../store.ts";
import type { KvSet } from "../writer/write.ts";
import type { LedgerAt, RunAt } from "./heads.ts";

/** Pages per row; a row is rewritten once for each of them. */
const PAGES_PER_ROW = 64;

/** A page entry as stored: a tuple is half as large as an object. */
export type StoredEntry = readonly [firstBatch: number, tsMin: number, tsMax: number];

/** The directory row that the next sealed page is appended to. */
export type DirectoryRow = readonly StoredEntry[];

/** Reads the row that the ledger's next sealed page is appended to. */
export async function readOpenRow(
  { store, team, id }: RunAt,
  { sealed }: Pick<EventLedger, "sealed">,
): Promise<DirectoryRow> {
  const count = sealed % PAGES_PER_ROW;
  if (count === 0) return [];
  const key = keys.directoryRow(team, id, Math.floor(sealed / PAGES_PER_ROW));
  const row = await getValue<StoredEntry[]>(store, key);
  // A longer row was written by another writer; this ledger's commit then conflicts.
  return (row ?? []).slice(0, count);
}

/** Returns the set that adds a page to the directory, and the row for the next page. */
export function addToRow(
  { team, id }: Pick<RunAt, "team" | "id">,
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
  { store, team, id, ledger: { sealed } }: LedgerAt,
): Promise<PageEntry[]> {
  if (sealed === 0) return [];
  const rows = await listRows<StoredEntry[]>(store, { prefix: keys.directory(team, id) });
  const entries = rows.flatMap(({ value }) => value);
  // A page sealed after the ledger was read belongs to a later state.
  return entries.slice(0, sealed).map(([firstBatch, tsMin, tsMax]) => ({
    firstBatch,
    tsMin,
    tsMax,
  }));
}

/** Reads a sealed page; a deleted one is empty. */
export async function readDirectoryPage(
  { store, team, id }: RunAt,
  page: number,
): Promise<LedgerPage> {
  const stored = await getValue<LedgerPage>(store, keys.page(team, id, page));
  return stored ?? { ids: new Uint8Array(), batches: [] };
}
