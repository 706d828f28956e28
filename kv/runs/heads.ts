/**
 * Reads the data that a run's cost is computed from, for one run or many.
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

/** Price of a heartbeat's tokens after a repricing. */
export interface StoredReprice {
  /** The price; null if the card no longer has one. */
  readonly price: ReportedPrice | null;
  /** Number of repricings. */
  readonly times: number;
  /** Whether the run was closed at the repricing; a close may report other tokens. */
  readonly closed: boolean;
}

/** A run with its latest summary. */
export interface SummarizedHead {
  readonly id: RunId;
  /** Current state. */
  readonly head: RunHead;
  /** Summary of this state or an earlier one. */
  readonly summary: RunSummary | null;
  /** Ledger; empty if there are no events. */
  readonly ledger: EventLedger;
  /** Versions of rows that requests write, for the checks of a deletion; null if absent. */
  readonly versions: Readonly<Record<"opening" | "closing" | "ledger", string | null>>;
  /**
   * Latest version of the rows that were read. They are one snapshot, so it includes every commit
   * up to that version.
   */
  readonly version: string;
}

/** Returns whether anything is stored for a run. */
export function isStored({ parts, batchCount, ages }: RunHead): boolean {
  return parts.opening !== null || parts.closing !== null || batchCount > 0 ||
    ages.scores !== undefined;
}

/** Returns the keys that {@link headOf} decodes. */
export function headKeys(team: TeamId, id: RunId): Deno.KvKey[] {
  return HEAD_PARTS.map((part) => keys[part](team, id));
}

/** Decodes the values at {@link headKeys}. */
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

/** Returns whether a heartbeat has closed the run since, with its own tokens and price. */
function isOutdated({ closed }: StoredReprice, { closing }: RunParts): boolean {
  return !closed && closing?.reported !== undefined;
}

/** Reads distinct runs of a team. */
export async function readHeads(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<SummarizedHead[]> {
  const byRun = await readHeadRows(store, team, ids);
  return await Promise.all(
    ids.map((id) => {
      const rows = byRun.get(id);
      return headOf(store, team, id, HEAD_PARTS.map((part) => rows?.get(part) ?? NO_ROW));
    }),
  );
}

/** Parts that {@link headOf} decodes, in its order. */
const HEAD_PARTS = ["opening", "closing", "ledger", "price", "summary"] as const;

const NO_ROW: Deno.KvEntryMaybe<unknown> = { key: [], value: null, versionstamp: null };

/** Returns the later of two versions, which sort as text. */
function later(a: string, b: string | null): string {
  return b !== null && b > a ? b : a;
}
