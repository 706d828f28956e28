/**
 * The slowest and the most expensive event of a run, kept with its totals: a page of a long run marks
 * them without reading the other pages.
 *
 * Of equal events the one that was stored first stands out.
 *
 * @module
 */
import type { BatchPrices } from "../pricing/price_events.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RunEvent } from "./event.ts";

/** Place of an event among the events of its run. */
export interface StoredAt {
  /** Instant by the client's clock, unix milliseconds. */
  readonly ts: number;
  /** Number of its batch. */
  readonly batch: number;
  /** Index in the batch. */
  readonly index: number;
}

/** The event that took longest. */
export interface SlowestEvent extends StoredAt {
  /** Duration in milliseconds. */
  readonly durationMs: number;
}

/** The most expensive call. */
export interface CostliestCall extends StoredAt {
  /** Cost in picodollars. */
  readonly cost: Picodollars;
}

/** Returns the slowest of a batch and the one known; undefined if no event states a duration. */
export function slowestOf(
  known: SlowestEvent | undefined,
  events: readonly Pick<RunEvent, "ts" | "facts">[],
  batch: number,
): SlowestEvent | undefined {
  let [at, durationMs] = [-1, known?.durationMs ?? 0];
  for (let i = 0; i < events.length; i++) {
    const { latencyMs = 0 } = (events[i] as RunEvent).facts;
    if (latencyMs > durationMs) [at, durationMs] = [i, latencyMs];
  }
  return at < 0 ? known : { ts: (events[at] as RunEvent).ts, batch, index: at, durationMs };
}

/** Returns the most expensive of a batch and the one known; undefined if no call costs anything. */
export function costliestOf(
  known: CostliestCall | undefined,
  events: readonly Pick<RunEvent, "ts">[],
  { costs }: Pick<BatchPrices, "costs">,
  batch: number,
): CostliestCall | undefined {
  let at = -1;
  let cost: number | bigint = known?.cost ?? 0;
  for (let i = 0; i < events.length; i++) {
    const own = costs[i] ?? 0;
    if (own > cost) [at, cost] = [i, own];
  }
  if (at < 0) return known;
  return { ts: (events[at] as RunEvent).ts, batch, index: at, cost: BigInt(cost) };
}

/** Batches of a run whose calls have new prices. */
export interface RepricedBatches {
  /** Number of the first one. */
  readonly from: number;
  /** Number after the last one. */
  readonly to: number;
  /** Number of all batches of the run. */
  readonly of: number;
  /** Most expensive call in them. */
  readonly costliest: CostliestCall | undefined;
}

/**
 * Returns the most expensive call after a repricing; null if it may be in a batch that was not read,
 * because the one known became cheaper.
 */
export function costliestAfter(
  known: CostliestCall | null | undefined,
  { from, to, of, costliest }: RepricedBatches,
): CostliestCall | null | undefined {
  if (from === 0 && to === of) return costliest;
  if (known === null) return null;
  const [before, after] = [known?.cost ?? 0n, costliest?.cost ?? 0n];
  if (known === undefined || known.batch < from || known.batch >= to) {
    return after > before ? costliest : known;
  }
  return after >= before ? costliest : null;
}
