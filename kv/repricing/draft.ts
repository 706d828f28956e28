/**
 * Prepares the commit of a repricing step.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { addCounts } from "../../domain/core/sums.ts";
import { addToBreakdown } from "../../domain/repricing/breakdown.ts";
import { formatInstant } from "../../domain/core/time.ts";
import {
  FIRST_RUN,
  type RepriceJob,
  type RepricePosition,
  type RunsRemaining,
} from "../../domain/repricing/job.ts";
import { type PendingMark, pendingName } from "../writer/pending_mark.ts";
import { sizeOf } from "../writer/group.ts";
import type { KvSet } from "../writer/write.ts";
import type { BackEnd } from "../base/limits.ts";
import type { RepriceStep } from "./run.ts";

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
