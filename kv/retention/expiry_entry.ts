/**
 * Changes of a run's expiry entry, which may share a row with others.
 *
 * @module
 */
import { type ExpiryEntry, expiryEntryOf } from "../../domain/retention/retention.ts";
import { encodeSums } from "../base/codec_sums.ts";
import { keys } from "../base/keys.ts";
import type { SummarizedHead } from "../runs/heads.ts";
import type { RunRows } from "../runs/run_update.ts";

/**
 * Replaces the expiry entry of a run. The new one has a row of its own: the sweep moves few runs
 * at a time, and it moves them once.
 *
 * @param entry new entry, which may equal the stored one; null for none
 */
export function moveExpiryEntry(
  { team, id, head, ledger, summary }: SummarizedHead,
  entry: ExpiryEntry | null,
): Required<Pick<RunRows, "added" | "removed" | "sets">> {
  const placeOf = ({ retentionClass, since }: ExpiryEntry) => ({
    order: keys.expiryOrder(team, retentionClass),
    at: since,
    run: id,
  });
  const stored = expiryEntryOf(head.parts, ledger);
  const blocks = summary?.blocks ?? [];
  // An entry stays in its block when another one follows, and the run may return to that entry.
  const left = entry === null ? [stored] : [stored, entry];
  return {
    removed: left.map((each) => ({ ...placeOf(each), blocks })),
    added: entry === null ? [] : [{ ...placeOf(entry), value: true, mayShare: false }],
    // The worker adds the next entry only if the summary has another one. This is no change of the
    // run, so the feed does not show it.
    sets: entry === null || summary === null
      ? []
      : [{ key: keys.summary(team, id), value: encodeSums({ ...summary, expiry: entry }) }],
  };
}
