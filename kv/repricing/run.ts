/**
 * Pricing the calls of one run anew, some batches at a time.
 *
 * New prices stand beside the batches they are of, in keys of their own; the ledger's totals change by
 * the difference in the same commit. So at each moment a run's cost is the sum of its calls.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { storedCall } from "../../domain/runs/event.ts";
import type { Priceable } from "../../domain/pricing/price_events.ts";
import type { RateCard } from "../../domain/pricing/rates.ts";
import {
  addRepriced,
  NO_CALLS,
  repriceBatch,
  repriceHeartbeat,
  type RepriceSpec,
  type RepriceSum,
} from "../../domain/repricing/reprice.ts";
import { isStated } from "../../domain/runs/run.ts";
import type { RunHead } from "../../domain/runs/cost.ts";
import { numbersFrom, readBatches } from "../runs/batches.ts";
import { encodePrices, type StoredBatch } from "../base/codec.ts";
import { costOf } from "../writer/group.ts";
import { headKeys, headOf, type StoredReprice } from "../runs/heads.ts";
import { ledgerOf } from "../runs/tombstone.ts";
import { keys } from "../base/keys.ts";
import { blobWrite, getMany, type Store } from "../store.ts";

/** Batches looked at, and bytes of new prices, after which what changed is to be committed. */
const STEP = { batchesMax: 50, bytesMax: 200_000 } as const;

/** Values to set. */
export type Sets = { readonly key: Deno.KvKey; readonly value: unknown }[];

/** What to commit for a run, and what it comes to. */
export interface RepriceStep {
  /** Versions that the change is made of. */
  readonly checks: readonly Deno.AtomicCheck[];
  /** The change; empty when nothing changes. */
  readonly sets: Readonly<Sets>;
  /** The agent of the run; null when it names none. */
  readonly agent: string | null;
  /** The calls that were meant. */
  readonly sum: RepriceSum;
  /** The batch to go on with; null when the run is done. */
  readonly nextBatch: number | null;
}

/** A run on its way to new prices. */
export interface RepriceTarget {
  /** Where it is stored. */
  readonly store: Store;
  /** Whose run. */
  readonly team: TeamId;
  /** The run. */
  readonly id: RunId;
  /** Which of its calls. */
  readonly spec: RepriceSpec;
  /** What prices them. */
  readonly card: RateCard;
}

type OwnStep = Omit<RepriceStep, "agent">;

const NOTHING: OwnStep = { checks: [], sets: [], sum: NO_CALLS, nextBatch: null };

/** Prices a run's heartbeat and some of its batches anew, from one of them on. Commits nothing. */
export async function repriceStep(target: RepriceTarget, fromBatch: number): Promise<RepriceStep> {
  const { store, team, id } = target;
  const entries = await getMany(store, headKeys(team, id));
  const { head } = await headOf(store, team, id, entries);
  const agent = head.parts.opening?.agent ?? null;
  if (isStated(head.parts)) return { ...NOTHING, agent };
  const [, , ledger, price] = entries;
  const own = fromBatch === 0 ? heartbeatStep(target, head, price) : NOTHING;
  const events = await eventsStep(target, ledger, fromBatch);
  return {
    agent,
    checks: [...own.checks, ...events.checks],
    sets: [...own.sets, ...events.sets],
    sum: addRepriced(own.sum, events.sum),
    nextBatch: events.nextBatch,
  };
}

function heartbeatStep(
  { team, id, spec, card }: RepriceTarget,
  { parts, repriced }: RunHead,
  entry: Deno.KvEntryMaybe<unknown> | undefined,
): OwnStep {
  const { sum, price } = repriceHeartbeat(spec, parts, repriced, card);
  if (price === undefined) return { ...NOTHING, sum };
  const key = keys.price(team, id);
  const times = ((entry?.value as StoredReprice | null)?.times ?? 0) + 1;
  const value: StoredReprice = { price, times, closed: parts.closing !== null };
  const checks = [{ key, versionstamp: entry?.versionstamp ?? null }];
  return { checks, sets: [{ key, value }], sum, nextBatch: null };
}

async function eventsStep(
  target: RepriceTarget,
  entry: Deno.KvEntryMaybe<unknown> | undefined,
  fromBatch: number,
): Promise<OwnStep> {
  const ledger = ledgerOf(entry?.value);
  // What is removed keeps the price it had.
  const firstBatch = Math.max(fromBatch, ledger.removed);
  if (firstBatch >= ledger.batches) return NOTHING;
  const { team, id, spec, card } = target;
  const sets: Sets = [];
  let next = firstBatch;
  let bytes = 0;
  let { totals } = ledger;
  let sum = NO_CALLS;
  const numbers = numbersFrom(
    firstBatch,
    Math.min(ledger.batches, firstBatch + STEP.batchesMax),
  );
  for await (const batch of readBatches(target.store, team, id, ledger, numbers)) {
    const repriced = repriceBatch(spec, batch.events.map(toPrice), batch.prices, totals, card);
    sum = addRepriced(sum, repriced.sum);
    totals = repriced.totals;
    if (repriced.prices !== null) {
      const key = keys.prices(team, id, next);
      // Prices are small beside the events they are of: they never need to be staged.
      const blob = blobWrite(team, id, key, encodePrices(repriced.prices));
      bytes += costOf(blob).bytes;
      sets.push(...blob.sets);
    }
    next++;
    if (bytes >= STEP.bytesMax) break;
  }
  const nextBatch = next < ledger.batches ? next : null;
  if (sets.length === 0) return { ...NOTHING, sum, nextBatch };
  const key = keys.ledger(team, id);
  sets.push({ key, value: { ...ledger, totals, repricings: ledger.repricings + 1 } });
  return { checks: [{ key, versionstamp: entry?.versionstamp ?? null }], sets, sum, nextBatch };
}

function toPrice({ ts, type, data }: StoredBatch["events"][number]): Priceable {
  return { ts, facts: { call: storedCall(type, data) } };
}
