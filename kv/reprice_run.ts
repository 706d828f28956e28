/**
 * Pricing the calls of one run anew, some batches at a time.
 *
 * New prices stand beside the batches they are of, in keys of their own; the ledger's totals change by
 * the difference in the same commit. So at each moment a run's cost is the sum of its calls.
 *
 * @module
 */
import type { TeamId } from "../domain/credentials.ts";
import type { EventLedger } from "../domain/events.ts";
import type { RunId } from "../domain/ids.ts";
import { storedCall } from "../domain/parse_events.ts";
import type { RateCard } from "../domain/rates.ts";
import {
  addRepriced,
  NO_CALLS,
  repriceBatch,
  repriceHeartbeat,
  type RepriceSpec,
  type RepriceSum,
} from "../domain/reprice.ts";
import type { RunHead } from "../domain/run_cost.ts";
import { readBatches } from "./batches.ts";
import { encodePrices } from "./codec.ts";
import { headKeys, headOf, type StoredReprice } from "./heads.ts";
import { keys } from "./keys.ts";
import { GET_MANY_KEYS_MAX } from "./kv_limits.ts";
import { blobWrite, getMany, type Store } from "./store.ts";

/** Batches looked at before what changed is committed. */
const BATCHES_PER_STEP = 50;

/** What to commit for a run, and what it comes to. */
export interface RepriceStep {
  /** Versions that the change is made of. */
  readonly checks: readonly Deno.AtomicCheck[];
  /** The change; empty when nothing changes. */
  readonly sets: readonly { readonly key: Deno.KvKey; readonly value: unknown }[];
  /** The calls that were meant. */
  readonly sum: RepriceSum;
  /** The batch to go on with; null when the run is done. */
  readonly nextBatch: number | null;
}

/** A run on its way to new prices. */
interface Target {
  readonly store: Store;
  readonly team: TeamId;
  readonly id: RunId;
  readonly spec: RepriceSpec;
  readonly card: RateCard;
}

/** Prices a run's heartbeat and some of its batches anew, from one of them on. Commits nothing. */
export async function repriceStep(target: Target, fromBatch: number): Promise<RepriceStep> {
  const { store, team, id } = target;
  const entries = await getMany(store, headKeys(team, id));
  const { head } = await headOf(store, team, id, entries);
  const [, , ledger, price] = entries;
  const own = fromBatch === 0 ? heartbeatStep(target, head, price) : NOTHING;
  const events = await eventsStep(target, ledger, fromBatch);
  return {
    checks: [...own.checks, ...events.checks],
    sets: [...own.sets, ...events.sets],
    sum: addRepriced(own.sum, events.sum),
    nextBatch: events.nextBatch,
  };
}

const NOTHING: RepriceStep = { checks: [], sets: [], sum: NO_CALLS, nextBatch: null };

function heartbeatStep(
  { team, id, spec, card }: Target,
  { parts, repriced }: RunHead,
  entry: Deno.KvEntryMaybe<unknown> | undefined,
): RepriceStep {
  const { sum, price } = repriceHeartbeat(spec, parts, repriced, card);
  if (price === undefined) return { ...NOTHING, sum };
  const key = keys.price(team, id);
  const times = ((entry?.value as StoredReprice | null)?.times ?? 0) + 1;
  const value: StoredReprice = { price, times };
  const checks = [{ key, versionstamp: entry?.versionstamp ?? null }];
  return { checks, sets: [{ key, value }], sum, nextBatch: null };
}

async function eventsStep(
  target: Target,
  entry: Deno.KvEntryMaybe<unknown> | undefined,
  fromBatch: number,
): Promise<RepriceStep> {
  const ledger = (entry?.value ?? null) as EventLedger | null;
  if (ledger === null) return NOTHING;
  const { store, team, id, spec, card } = target;
  const to = Math.min(fromBatch + BATCHES_PER_STEP, ledger.batches);
  const sets: RepriceStep["sets"][number][] = [];
  let { totals } = ledger;
  let sum = NO_CALLS;
  for (let at = fromBatch; at < to; at += GET_MANY_KEYS_MAX) {
    const length = Math.min(GET_MANY_KEYS_MAX, to - at);
    const numbers = Array.from({ length }, (_, i) => at + i);
    for (const [i, batch] of (await readBatches(store, team, id, ledger, numbers)).entries()) {
      const events = batch.events.map(({ ts, type, data }) => ({
        ts,
        facts: { call: storedCall(type, data) },
      }));
      const repriced = repriceBatch(spec, events, batch.prices, totals, card);
      sum = addRepriced(sum, repriced.sum);
      totals = repriced.totals;
      if (repriced.prices === null) continue;
      const key = keys.prices(team, id, at + i);
      sets.push(...blobWrite(team, id, key, encodePrices(repriced.prices)).sets);
    }
  }
  const nextBatch = to < ledger.batches ? to : null;
  if (sets.length === 0) return { ...NOTHING, sum, nextBatch };
  const key = keys.ledger(team, id);
  sets.push({ key, value: { ...ledger, totals, repricings: ledger.repricings + 1 } });
  return { checks: [{ key, versionstamp: entry?.versionstamp ?? null }], sets, sum, nextBatch };
}
