/**
 * The work of jobs that price calls anew, step by step.
 *
 * A step is one commit: the new prices of some runs together with how far the job has come and what it
 * came to. It checks the job's version, so of two workers at one step one loses, and counts nothing.
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
import { costOf } from "../writer/group.ts";
import { keys } from "../base/keys.ts";
import type { BackEnd } from "../base/limits.ts";
import { gatherRuns, indexSpanOf } from "./index.ts";
import { type RepriceStep, repriceStep, type RepriceTarget, type Sets } from "./run.ts";
import type { Store } from "../store.ts";

/**
 * What a step holds at most: runs, and what its commit may have before one more run is added to it. A run adds less than half of what a commit may weigh.
 */
const STEP = {
  runsMax: 32,
  bytesMax: 390_000,
} as const;

/** Checks that a run adds at most: its ledger and its own price. */
const CHECKS_PER_RUN_MAX = 2;

/** What a step is about to commit. */
interface Draft {
  job: RepriceJob;
  readonly checks: Deno.AtomicCheck[];
  readonly sets: Sets;
  readonly pending: PendingMark[];
}

/** Works on jobs. */
export class RepriceWork {
  readonly #store: Store;
  readonly #cards: RateCards;
  readonly #now: () => number;
  /** Runs of the next step: fewer after one was lost, as it is where runs change all the time. */
  #runsMax: number = STEP.runsMax;

  /** Has worked on nothing yet; `now` is in unix milliseconds. */
  constructor(store: Store, cards: RateCards, now: () => number) {
    this.#store = store;
    this.#cards = cards;
    this.#now = now;
  }

  /** Takes a job a step further; returns it as it was stored, null when the step was lost. */
  async advance(
    team: TeamId,
    job: RepriceJob,
    entry: Deno.AtomicCheck,
  ): Promise<RepriceJob | null> {
    const draft: Draft = { job, checks: [entry], sets: [], pending: [] };
    if (job.state === "waiting") await this.#begin(team, draft);
    else await this.#goOn(team, draft);
    const after = draft.job;
    const committed = await this.#store.writer.commit({
      team,
      checks: draft.checks,
      sets: [...draft.sets, { key: entry.key, value: after }],
      deletes: after.state === "done" ? [keys.activeReprice(team, job.id)] : [],
      pending: draft.pending,
    });
    // A lost check: a run changed, or another process took the step. The next one reads again.
    this.#runsMax = committed === null
      ? Math.max(1, this.#runsMax >> 1)
      : Math.min(STEP.runsMax, this.#runsMax * 2);
    return committed === null ? null : after;
  }

  async #begin(team: TeamId, draft: Draft): Promise<void> {
    const span = await indexSpanOf(this.#store, team, draft.job.spec);
    draft.job = span === null ? this.#done(draft.job) : { ...draft.job, state: "running", span };
  }

  async #goOn(team: TeamId, draft: Draft): Promise<void> {
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
    const places = ahead.runs.slice(0, this.#runsMax);
    // One after the other: a run's batches may be large.
    for (const [i, place] of places.entries()) {
      if (isFull(draft, this.#store.limits)) return;
      const target = { store: this.#store, team, id: place.run, spec, card };
      const step = await stepOrFailure(target, draft.job.cursor.batch);
      if (step === null) draft.job = { ...draft.job, failed: draft.job.failed + 1 };
      else addStep(draft, step, place);
      if (step !== null && step.nextBatch !== null) {
        // The next step goes on with this very run, whatever joins the index meanwhile.
        const rest = { ...ahead, runs: ahead.runs.slice(i) };
        draft.job = { ...draft.job, cursor: { ...draft.job.cursor, ahead: rest } };
        return;
      }
      const runs = ahead.runs.slice(i + 1);
      // What one step gathered is gathered again by the next one: it is not worth its place in the job.
      const isKept = before !== null && (runs.length > 0 || ahead.isLast);
      leave(team, draft, place, isKept ? { ...ahead, runs } : null);
    }
    if (ahead.isLast && places.length === ahead.runs.length) draft.job = this.#done(draft.job);
  }

  #done(job: RepriceJob): RepriceJob {
    return { ...job, state: "done", finishedAt: this.#now(), progress: 1 };
  }
}

/** Prices some batches of a run anew; null for a run that cannot be read: it is left as it is. */
async function stepOrFailure(target: RepriceTarget, batch: number): Promise<RepriceStep | null> {
  try {
    return await repriceStep(target, batch);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    return null;
  }
}

/** Adds what some batches of a run come to. */
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

/** Counts a run and goes on behind it. It is summed up once, however many steps it took. */
function leave(team: TeamId, draft: Draft, place: RunPosition, ahead: RunsRemaining | null): void {
  const { job } = draft;
  const { met, changed } = job.cursor;
  if (changed && !job.dryRun) {
    draft.pending.push({ lane: "closed", name: pendingName(team, place.run) });
  }
  draft.job = {
    ...job,
    cursor: { ...FIRST_RUN, after: place, ahead },
    runs: job.runs + (met ? 1 : 0),
    changed: job.changed + (changed ? 1 : 0),
    progress: progressAt(job, place),
  };
}

/** How much of the way is behind a job at a run, by the time it covers. */
function progressAt({ span: { from, to } }: RepriceJob, { startedAt }: RunPosition): number {
  return to === from ? 0 : (startedAt - from) / (to - from);
}

function isFull({ checks, sets }: Draft, { checksMax }: BackEnd): boolean {
  return checks.length + CHECKS_PER_RUN_MAX > checksMax ||
    costOf({ checks, sets }).bytes >= STEP.bytesMax;
}
