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
import type { Priceable } from "../../domain/pricing/price.ts";
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
import { type KvSet, type PendingMark, pendingName, sizeOf } from "../writer/group.ts";
import { readHead, type RunRef, type StoredReprice, type SummarizedHead } from "../runs/heads.ts";
import { keys } from "../base/keys.ts";
import { blobWrite } from "../store.ts";
import { encodeLedger } from "../base/codec_sums.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  addToBreakdown,
  FIRST_RUN,
  type RepriceJob,
  type RepricePosition,
  type RunsRemaining,
} from "../../domain/repricing/reprice_job.ts";
import { formatInstant } from "../../domain/core/time.ts";
import type { BackEnd } from "../base/limits.ts";

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

export interface RepriceTarget extends RunRef {
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
  const numbers = numbersFrom(firstBatch, Math.min(ledger.batches, firstBatch + STEP.batchesMax));
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

/**
 * Bytes from which a commit counts as full. Another run adds less than half of a commit's maximum.
 */
const BYTES_MAX = 390_000;

/** Maximum checks of a run: its ledger and its own price. */
const CHECKS_PER_RUN_MAX = 2;

/** The commit of a step in preparation. */
export interface Draft {
  job: RepriceJob;
  readonly checks: Deno.AtomicCheck[];
  readonly sets: KvSet[];
  readonly pending: PendingMark[];
}

/** Adds the changes and totals of a run's batches. */
export function addStep(
  draft: Draft,
  { checks, sets, agent, sum, nextBatch }: RepriceStep,
  { startedAt }: RepricePosition,
): void {
  const { job } = draft;
  const changes = sets.length > 0;
  if (changes && !job.dryRun) {
    draft.checks.push(...checks);
    draft.sets.push(...sets);
  }
  const cursor = {
    ...job.cursor,
    batch: nextBatch ?? 0,
    met: job.cursor.met || sum.calls > 0,
    changed: job.cursor.changed || changes,
  };
  const day = formatInstant(startedAt).slice(0, 10);
  draft.job = {
    ...job,
    cursor,
    sum: addCounts(job.sum, sum),
    shares: addToBreakdown(job.shares, agent, day, sum),
  };
}

/**
 * Counts a run and continues after it. It is marked for projection once, however many steps it
 * took.
 */
export function finishRun(
  team: TeamId,
  draft: Draft,
  position: RepricePosition,
  ahead: RunsRemaining | null,
): void {
  const { job } = draft;
  const { met, changed } = job.cursor;
  if (changed && !job.dryRun) {
    draft.pending.push({ lane: "closed", name: pendingName(team, position.run) });
  }
  draft.job = {
    ...job,
    cursor: { ...FIRST_RUN, after: position, ahead },
    runs: job.runs + (met ? 1 : 0),
    changed: job.changed + (changed ? 1 : 0),
    progress: progressAt(job, position),
  };
}

/** Returns the fraction of the job's period that lies before a run. */
function progressAt({ span: { from, to } }: RepriceJob, { startedAt }: RepricePosition): number {
  return to === from ? 0 : (startedAt - from) / (to - from);
}

/** Returns whether another run might not fit into the commit. */
export function isFull({ checks, sets }: Draft, { checks: checksMax }: BackEnd): boolean {
  return checks.length + CHECKS_PER_RUN_MAX > checksMax ||
    sizeOf({ checks, sets }).bytes >= BYTES_MAX;
}
