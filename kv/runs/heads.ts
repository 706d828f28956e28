/**
 * Reading what a run's cost follows from, for one run or many.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { EventLedger } from "../../domain/runs/ledger.ts";
import type { ReportedPrice, RunParts } from "../../domain/runs/run.ts";
import type { RunHead } from "../../domain/runs/cost.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { readHeadRows } from "./head_rows.ts";
import { keys } from "../base/keys.ts";
import { readParts } from "./parts.ts";
import { ledgerOf } from "./tombstone.ts";
import type { Store } from "../store.ts";

/** What a heartbeat's tokens cost since they were priced anew. */
export interface StoredReprice {
  /** The price; null when the card has none any more. */
  readonly price: ReportedPrice | null;
  /** How often it was priced anew. */
  readonly times: number;
  /** Whether the run had its close by then, which may report other tokens than its opening. */
  readonly closed: boolean;
}

/** A run with the summary that was last made of it. */
export interface SummarizedHead {
  /** The run. */
  readonly id: RunId;
  /** Its present state. */
  readonly head: RunHead;
  /** Its summary, of this state or an earlier one. */
  readonly summary: RunSummary | null;
  /** Its ledger; an empty one where there are no events. */
  readonly ledger: EventLedger;
  /** Versions of what calls write, to be checked by whoever removes any of it; null for nothing. */
  readonly versions: Readonly<Record<"opening" | "closing" | "ledger", string | null>>;
  /**
   * The latest version among what was read. All of it is of one moment, so everything that was
   * committed up to that version is in it.
   */
  readonly version: string;
}

/** Whether anything is stored of a run. */
export function isStored({ parts, batchCount, ages }: RunHead): boolean {
  return parts.opening !== null || parts.closing !== null || batchCount > 0 ||
    ages.scores !== undefined;
}

/** Keys that {@link headOf} reads, for each run. */
export function headKeys(team: TeamId, id: RunId): Deno.KvKey[] {
  return HEAD_PARTS.map((part) => keys[part](team, id));
}

/** Joins the values at {@link headKeys}. */
export async function headOf(
  store: Store,
  team: TeamId,
  id: RunId,
  entries: readonly Deno.KvEntryMaybe<unknown>[],
): Promise<SummarizedHead> {
  const [opening, closing, ledgerEntry, price, summary] = entries.map(({ value }) => value);
  const parts = await readParts(store, team, id, opening, closing);
  const ledger = ledgerOf(ledgerEntry);
  const repriced = price as StoredReprice | null;
  return {
    id,
    head: {
      parts,
      totals: ledger.totals,
      batchCount: ledger.batches,
      ages: ledger,
      repricings: ledger.repricings + (repriced?.times ?? 0),
      repriced: repriced === null || isOutdated(repriced, parts) ? undefined : repriced.price,
    },
    ledger,
    versions: {
      opening: entries[0]?.versionstamp ?? null,
      closing: entries[1]?.versionstamp ?? null,
      ledger: entries[2]?.versionstamp ?? null,
    },
    version: entries.reduce((latest, { versionstamp }) => later(latest, versionstamp), ""),
    summary: summary === null ? null : decodeSums<RunSummary>(summary as Uint8Array),
  };
}

/** Whether a heartbeat that closed the run since reports what it used, at the price of its time. */
function isOutdated({ closed }: StoredReprice, { closing }: RunParts): boolean {
  return !closed && closing?.reported !== undefined;
}

/** Reads runs of a team, each named once. */
export async function readHeads(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<SummarizedHead[]> {
  const found = await readHeadRows(store, team, ids);
  return await Promise.all(
    ids.map((id) => {
      const rows = found.get(id);
      return headOf(store, team, id, HEAD_PARTS.map((part) => rows?.get(part) ?? NO_ROW));
    }),
  );
}

/** What {@link headOf} reads of a run, in its order. */
const HEAD_PARTS = ["opening", "closing", "ledger", "price", "summary"] as const;

const NO_ROW: Deno.KvEntryMaybe<unknown> = { key: [], value: null, versionstamp: null };

/** The later of two versions, which sort as text. */
function later(a: string, b: string | null): string {
  return b !== null && b > a ? b : a;
}
