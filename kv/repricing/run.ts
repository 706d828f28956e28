/**
 * Reprices the calls of one run, some batches at a time.
 *
 * New prices are stored next to their batches, under separate keys. The same commit changes the
 * ledger's totals by the difference, so a run's cost always equals the sum of its calls.
 *
 * @module
 */
import { addCounts } from "../../domain/core/sums.ts";
import { storedCall } from "../../domain/runs/event.ts";
import type { Priceable } from "../../domain/pricing/price_events.ts";
import type { RateCard } from "../../domain/pricing/rates.ts";
import {
  NO_CALLS,
  repriceBatch,
  repriceHeartbeat,
  type RepriceSpec,
  type RepriceSum,
} from "../../domain/repricing/reprice.ts";
import { coversCalls } from "../../domain/runs/cost.ts";
import { numbersFrom, readBatches } from "../runs/batches.ts";
import { encodePrices, type StoredBatch } from "../base/codec.ts";
import { sizeOf } from "../writer/group.ts";
import { readHead, type RunAt, type StoredReprice, type SummarizedHead } from "../runs/heads.ts";
import { keys } from "../base/keys.ts";
import { blobWrite } from "../store.ts";
import type { KvSet } from "../writer/write.ts";
import { encodeLedger } from "../base/codec_sums.ts";

/** Maximum batches checked and bytes of new prices in one commit. */
const STEP = { batchesMax: 50, bytesMax: 200_000 } as const;

/** The changes to commit for a run, and their totals. */
export interface RepriceStep {
  /** Versions that the change depends on. */
  readonly checks: readonly Deno.AtomicCheck[];
  /** Empty when nothing changes. */
  readonly sets: readonly KvSet[];
  /** Agent of the run; null when it names none. */
  readonly agent: string | null;
  /** Totals of the calls that match the job. */
  readonly sum: RepriceSum;
  /** The next batch; null when the run is done. */
  readonly nextBatch: number | null;
}

/** A run to reprice. */
export interface RepriceTarget extends RunAt {
  /** Selects the calls to reprice. */
  readonly spec: RepriceSpec;
  /** The rate card to apply. */
  readonly card: RateCard;
}

type OwnStep = Omit<RepriceStep, "agent">;

const NOTHING: OwnStep = { checks: [], sets: [], sum: NO_CALLS, nextBatch: null };

/** Reprices a run's heartbeat and some of its batches, starting at one of them. Commits nothing. */
export async function repriceStep(target: RepriceTarget, fromBatch: number): Promise<RepriceStep> {
  const run = await readHead(target);
  const { parts } = run.head;
  const agent = parts.opening?.agent ?? null;
  const heartbeat = fromBatch === 0 ? heartbeatStep(target, run) : NOTHING;
  // Calls that a heartbeat covers add no cost, whatever their price.
  const events = coversCalls(parts) ? NOTHING : await eventsStep(target, run, fromBatch);
  return {
    agent,
    checks: [...heartbeat.checks, ...events.checks],
    sets: [...heartbeat.sets, ...events.sets],
    sum: addCounts(heartbeat.sum, events.sum),
    nextBatch: events.nextBatch,
  };
}

function heartbeatStep(
  { spec, card }: RepriceTarget,
  { head: { parts, repriced, repricings }, ledger, check }: SummarizedHead,
): OwnStep {
  const { sum, price } = repriceHeartbeat(spec, parts, repriced, card);
  if (price === undefined) return { ...NOTHING, sum };
  const times = repricings - ledger.repricings + 1;
  const value: StoredReprice = { price, times, closed: parts.closing !== null };
  const unchanged = check("price");
  return { checks: [unchanged], sets: [{ key: unchanged.key, value }], sum, nextBatch: null };
}

async function eventsStep(
  { spec, card }: RepriceTarget,
  run: SummarizedHead,
  fromBatch: number,
): Promise<OwnStep> {
  const { team, id, ledger } = run;
  // Removed batches keep their prices.
  const firstBatch = Math.max(fromBatch, ledger.removed);
  if (firstBatch >= ledger.batches) return NOTHING;
  const sets: KvSet[] = [];
  let next = firstBatch;
  let bytes = 0;
  let { totals } = ledger;
  let sum = NO_CALLS;
  const numbers = numbersFrom(
    firstBatch,
    Math.min(ledger.batches, firstBatch + STEP.batchesMax),
  );
  for await (const batch of readBatches(run, numbers)) {
    const repriced = repriceBatch(spec, batch.events.map(toPrice), batch.prices, totals, card);
    sum = addCounts(sum, repriced.sum);
    totals = repriced.totals;
    if (repriced.prices !== null) {
      const key = keys.prices(team, id, next);
      // Prices are much smaller than their events, so they never need staging.
      const blob = blobWrite(team, id, key, encodePrices(repriced.prices));
      bytes += sizeOf(blob).bytes;
      sets.push(...blob.sets);
    }
    next++;
    if (bytes >= STEP.bytesMax) break;
  }
  const nextBatch = next < ledger.batches ? next : null;
  if (sets.length === 0) return { ...NOTHING, sum, nextBatch };
  const unchanged = run.check("ledger");
  const value = encodeLedger({ ...ledger, totals, repricings: ledger.repricings + 1 });
  sets.push({ key: unchanged.key, value });
  return { checks: [unchanged], sets, sum, nextBatch };
}

function toPrice({ ts, type, data }: StoredBatch["events"][number]): Priceable {
  return { ts, facts: { call: storedCall(type, data) } };
}
