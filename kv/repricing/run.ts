/**
 * Reprices the calls of one run, some batches at a time.
 *
 * New prices are stored next to their batches, under separate keys. The same commit changes the
 * ledger's totals by the difference, so a run's cost always equals the sum of its calls.
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
import { sizeOf } from "../writer/group.ts";
import { headKeys, headOf, type StoredReprice } from "../runs/heads.ts";
import { ledgerOf } from "../runs/tombstone.ts";
import { keys } from "../base/keys.ts";
import { blobWrite, getMany, type Store } from "../store.ts";

/** Maximum batches checked and bytes of new prices in one commit. */
const STEP = { batchesMax: 50, bytesMax: 200_000 } as const;

export type Sets = { readonly key: Deno.KvKey; readonly value: unknown }[];

/** The changes to commit for a run, and their totals. */
export interface RepriceStep {
  /** Versions that the change depends on. */
  readonly checks: readonly Deno.AtomicCheck[];
  /** Empty when nothing changes. */
  readonly sets: Readonly<Sets>;
  /** Agent of the run; null when it names none. */
  readonly agent: string | null;
  /** Totals of the calls that match the job. */
  readonly sum: RepriceSum;
  /** The next batch; null when the run is done. */
  readonly nextBatch: number | null;
}

/** A run to reprice. */
export interface RepriceTarget {
  readonly store: Store;
  readonly team: TeamId;
  readonly id: RunId;
  /** Selects the calls to reprice. */
  readonly spec: RepriceSpec;
  /** The rate card to apply. */
  readonly card: RateCard;
}

type OwnStep = Omit<RepriceStep, "agent">;

const NOTHING: OwnStep = { checks: [], sets: [], sum: NO_CALLS, nextBatch: null };

/** Reprices a run's heartbeat and some of its batches, starting at one of them. Commits nothing. */
export async function repriceStep(target: RepriceTarget, fromBatch: number): Promise<RepriceStep> {
  const { store, team, id } = target;
  const entries = await getMany(store, headKeys(team, id));
  const { head } = await headOf(store, team, id, entries);
  const agent = head.parts.opening?.agent ?? null;
  if (isStated(head.parts)) return { ...NOTHING, agent };
  const [, , ledger, price] = entries;
  const heartbeat = fromBatch === 0 ? heartbeatStep(target, head, price) : NOTHING;
  const events = await eventsStep(target, ledger, fromBatch);
  return {
    agent,
    checks: [...heartbeat.checks, ...events.checks],
    sets: [...heartbeat.sets, ...events.sets],
    sum: addRepriced(heartbeat.sum, events.sum),
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
  // Removed batches keep their prices.
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
  const key = keys.ledger(team, id);
  sets.push({ key, value: { ...ledger, totals, repricings: ledger.repricings + 1 } });
  return { checks: [{ key, versionstamp: entry?.versionstamp ?? null }], sets, sum, nextBatch };
}

function toPrice({ ts, type, data }: StoredBatch["events"][number]): Priceable {
  return { ts, facts: { call: storedCall(type, data) } };
}
