/**
 * Advances repricing jobs, step by step.
 *
 * A step is one commit: the new prices of some runs together with the job's progress and totals. It
 * checks the job's version, so if two workers run one step, one loses and counts nothing.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import { addRepriced } from "../../domain/repricing/reprice.ts";
import { addToBreakdown } from "../../domain/repricing/breakdown.ts";
import { formatInstant } from "../../domain/core/time.ts";
import {
  FIRST_RUN,
  type RepriceJob,
  type RunPosition,
  type RunsRemaining,
} from "../../domain/repricing/job.ts";
import { type PendingMark, pendingName } from "../writer/pending_mark.ts";
import { sizeOf } from "../writer/group.ts";
import { keys } from "../base/keys.ts";
import type { BackEnd } from "../base/limits.ts";
import { gatherRuns, indexSpanOf } from "./index.ts";
import { type RepriceStep, repriceStep, type RepriceTarget, type Sets } from "./run.ts";
import type { Store } from "../store.ts";

/**
 * Limits of a step: its runs, and the bytes of its commit before another run is added. One run adds
 * less than half of a commit's maximum.
 */
const STEP = {
  runsMax: 32,
  bytesMax: 390_000,
} as const;

/** Maximum checks of a run: its ledger and its own price. */
const CHECKS_PER_RUN_MAX = 2;

/** The commit of a step in preparation. */
interface Draft {
  job: RepriceJob;
  readonly checks: Deno.AtomicCheck[];
  readonly sets: Sets;
  readonly pending: PendingMark[];
}

/** Advances repricing jobs. */
export class RepriceWork {
  readonly #store: Store;
  readonly #cards: RateCards;
  readonly #now: () => number;
  /** Runs of the next step: fewer after a conflict, because runs change often then. */
  #runsMax: number = STEP.runsMax;

  /** @param now returns unix milliseconds */
  constructor(store: Store, cards: RateCards, now: () => number) {
    this.#store = store;
    this.#cards = cards;
    this.#now = now;
  }

  /** Runs the next step of a job; returns the stored job, or null after a conflict. */
  async advance(
    team: TeamId,
    job: RepriceJob,
    entry: Deno.AtomicCheck,
  ): Promise<RepriceJob | null> {
    const draft: Draft = { job, checks: [entry], sets: [], pending: [] };
    if (job.state === "waiting") await this.#begin(team, draft);
    else await this.#continue(team, draft);
    const after = draft.job;
    const committed = await this.#store.writer.commit({
      team,
      checks: draft.checks,
      sets: [...draft.sets, { key: entry.key, value: after }],
      deletes: after.state === "done" ? [keys.activeReprice(team, job.id)] : [],
      pending: draft.pending,
    });
    // A conflict: a run changed, or another process took the step. The next step reads again.
    this.#runsMax = committed === null
      ? Math.max(1, this.#runsMax >> 1)
      : Math.min(STEP.runsMax, this.#runsMax * 2);
    return committed === null ? null : after;
  }

  async #begin(team: TeamId, draft: Draft): Promise<void> {
    const span = await indexSpanOf(this.#store, team, draft.job.spec);
    draft.job = span === null ? this.#done(draft.job) : { ...draft.job, state: "running", span };
  }

  async #continue(team: TeamId, draft: Draft): Promise<void> {
    const { spec, cursor } = draft.job;
    const before = cursor.ahead;
    const ahead = before?.isComplete
      ? before
      : await gatherRuns(this.#store, team, draft.job, before);
    if (!ahead.isComplete) {
      draft.job = { ...draft.job, cursor: { ...cursor, ahead } };
      return;
    }
    const card = await this.#cards.card({ id: team });
    const positions = ahead.runs.slice(0, this.#runsMax);
    // Runs are read in sequence: a run's batches may be large.
    for (const [i, position] of positions.entries()) {
      if (isFull(draft, this.#store.limits)) return;
      const target = { store: this.#store, team, id: position.run, spec, card };
      const step = await stepOrFailure(target, draft.job.cursor.batch);
      if (step === null) draft.job = { ...draft.job, failed: draft.job.failed + 1 };
      else addStep(draft, step, position);
      if (step !== null && step.nextBatch !== null) {
        // The next step continues with this run, whatever is added to the index meanwhile.
        const remaining = { ...ahead, runs: ahead.runs.slice(i) };
        draft.job = { ...draft.job, cursor: { ...draft.job.cursor, ahead: remaining } };
        return;
      }
      const runs = ahead.runs.slice(i + 1);
      // Runs gathered in a single step are gathered again: storing them in the job costs more.
      const isKept = before !== null && (runs.length > 0 || ahead.isLast);
      finishRun(team, draft, position, isKept ? { ...ahead, runs } : null);
    }
    if (ahead.isLast && positions.length === ahead.runs.length) draft.job = this.#done(draft.job);
  }

  #done(job: RepriceJob): RepriceJob {
    return { ...job, state: "done", finishedAt: this.#now(), progress: 1 };
  }
}

/** Reprices some batches of a run; null for an unreadable run, which stays unchanged. */
async function stepOrFailure(target: RepriceTarget, batch: number): Promise<RepriceStep | null> {
  try {
    return await repriceStep(target, batch);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    return null;
  }
}

/** Adds the changes and totals of a run's batches. */
function addStep(
  draft: Draft,
  { checks, sets, agent, sum, nextBatch }: RepriceStep,
  { startedAt }: RunPosition,
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
    sum: addRepriced(job.sum, sum),
    shares: addToBreakdown(job.shares, agent, day, sum),
  };
}

/**
 * Counts a run and continues after it. It is marked for projection once, however many steps it
 * took.
 */
function finishRun(
  team: TeamId,
  draft: Draft,
  position: RunPosition,
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
function progressAt({ span: { from, to } }: RepriceJob, { startedAt }: RunPosition): number {
  return to === from ? 0 : (startedAt - from) / (to - from);
}

function isFull({ checks, sets }: Draft, { checks: checksMax }: BackEnd): boolean {
  return checks.length + CHECKS_PER_RUN_MAX > checksMax ||
    sizeOf({ checks, sets }).bytes >= STEP.bytesMax;
}
