/** The last events of a run, found without reading those in front of them. */
import type { EventPosition } from "../../../domain/ports.ts";
import type { StoredRun } from "../../../domain/run/record.ts";

/**
 * A place near the end of a run's events, so that about so many of them are behind it; null where that
 * would be all of them. It follows from where batches lie in time: none is read.
 */
export function placeNearEnd(
  { batches, totals }: Pick<StoredRun, "batches" | "totals">,
  events: number,
): EventPosition | null {
  const perBatch = Math.max(1, totals.events / Math.max(1, batches.length));
  const wanted = Math.ceil(events / perBatch);
  if (wanted >= batches.length) return null;
  const starts = batches.map(({ tsMin }) => tsMin).sort((a, b) => b - a);
  return before(starts[wanted - 1] ?? 0);
}

/** The place in front of all events of an instant, as near as a cursor can say. */
function before(ts: number): EventPosition | null {
  return ts < 1 ? null : { ts: ts - 1, batch: LAST_BATCH, index: 0 };
}

/** Behind every batch, and still what a cursor can hold. */
const LAST_BATCH = 999_999_999;
