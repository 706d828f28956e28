/**
 * Repricing as work of the queue.
 *
 * Each step of a job is one commit: new prices of some runs, together with the job's progress and
 * totals. It checks the job's version. So a job resumes after a crash, and counts every call once,
 * even if two processes take one step.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { JOB_NAMES_MAX, tooManyNames } from "../../domain/core/jobs.ts";
import { isSameJob, newJob, type RepriceJob } from "../../domain/repricing/reprice_job.ts";
import type { RepriceSpec } from "../../domain/repricing/reprice.ts";
import type { Team } from "../../domain/teams/team.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { AuditEntry } from "../../domain/teams/audit_log.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { keys, newRowName } from "../base/keys.ts";
import { createTeamJobs, type JobStep, type TeamJobDeps } from "../runs/team_jobs.ts";
import { countNames, gatherRuns, indexSpanOf } from "./runs_by_model.ts";
import {
  addStep,
  type Draft,
  finishRun,
  isFull,
  type RepriceStep,
  repriceStep,
  type RepriceTarget,
} from "./reprice_run.ts";
import { listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import type { RateCardStore } from "../rate_cards/rate_cards.ts";

/** Maximum finished jobs stored for a team. */
const DONE_JOBS_MAX = 100;

const RUNS_PER_STEP = 32;

/** Dependencies of repricing. */
export interface RepriceDeps extends TeamJobDeps {
  readonly cards: Pick<RateCardStore, "current">;
}

/** Store of repricing jobs. */
export type RepriceStore = ReturnType<typeof createRepriceWork>["reprices"];

/** Creates the store of repricing jobs, and the handler of their work. */
export function createRepriceWork(deps: RepriceDeps) {
  const { store, cards, now } = deps;
  /** Runs of the next step: fewer after a conflict, because runs change often then. */
  let runsMax: number = RUNS_PER_STEP;
  const jobs = createTeamJobs<RepriceJob>(deps, "reprice", step);
  const done = (job: RepriceJob): RepriceJob => ({
    ...job,
    state: "done",
    finishedAt: now(),
    progress: 1,
  });

  async function step({ team, job, isOver, commit }: JobStep<RepriceJob>): Promise<void> {
    const draft: Draft = { job, checks: [], sets: [], pending: [] };
    if (job.state === "running") await advance(team, draft, isOver);
    else {
      const span = await indexSpanOf({ store, team }, job.spec);
      draft.job = span === null ? done(job) : { ...job, state: "running", span };
    }
    const { job: after, ...write } = draft;
    // A conflict: a run changed, or another process took the step. The next step reads again.
    const isStored = await commit(after, write);
    runsMax = isStored ? Math.min(RUNS_PER_STEP, runsMax * 2) : Math.max(1, runsMax >> 1);
  }

  async function advance(team: TeamId, draft: Draft, isOver: () => boolean): Promise<void> {
    const { spec, cursor } = draft.job;
    const before = cursor.ahead;
    const ahead = before?.isComplete
      ? before
      : await gatherRuns({ store, team }, draft.job, before);
    if (!ahead.isComplete) {
      draft.job = { ...draft.job, cursor: { ...cursor, ahead } };
      return;
    }
    // Another instance may just have stored the price that the job is for.
    const card = await cards.current({ id: team });
    const positions = ahead.runs.slice(0, runsMax);
    // Runs are read in sequence: a run's batches may be large.
    for (const [i, position] of positions.entries()) {
      if (isFull(draft, store.limits) || i > 0 && isOver()) return;
      const target = { store, team, id: position.run, spec, card };
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
    if (ahead.isLast && positions.length === ahead.runs.length) draft.job = done(draft.job);
  }

  const reprices = {
    get: jobs.get,
    waitUntilDone: jobs.waitUntilDone,
    /** Lists the team's jobs, newest first. */
    list: ({ id: team }: Team) => store.reads.run(team, () => readJobs(store, team)),
    /**
     * Creates a job, or returns the same one in progress, or refuses a job beyond the limit. Of two
     * identical concurrent requests, the later one returns the job of the earlier one.
     */
    async create({ id: team }: Team, spec: RepriceSpec, dryRun: boolean, by: string) {
      const max = JOB_NAMES_MAX;
      const count = () => countNames({ store, team }, spec, max);
      if (await store.reads.run(team, count) > max) tooManyNames(spec.model);
      const isSame = (job: RepriceJob) => isSameJob(job, spec, dryRun);
      return await jobs.add(team, isSame, async () => {
        const job = newJob(newRowName(), spec, dryRun, by, now());
        const ended = (await readJobs(store, team)).filter(({ state }) => state === "done");
        const old = ended.slice(DONE_JOBS_MAX - 1);
        const deletes = old.map(({ id }) => keys.job("reprice", team, id));
        return { job, write: { sets: auditRows(startedEntry(team, job)), deletes } };
      });
    },
  };
  return { reprices, handler: jobs.handler };
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

/** Builds the audit log entry of a new job. */
function startedEntry(
  team: TeamId,
  { id, spec, dryRun, createdAt, createdBy }: RepriceJob,
): AuditEntry {
  const [from, to] = [spec.from, spec.to].map((ms) => ms === null ? null : formatInstant(ms));
  return {
    at: createdAt,
    team,
    actor: createdBy,
    action: "reprice.started",
    target: id,
    details: {
      model: spec.model,
      provider: spec.provider,
      from: from ?? null,
      to: to ?? null,
      dry_run: dryRun,
    },
  };
}

/** Reads a team's jobs, newest first. */
async function readJobs(store: Store, team: TeamId): Promise<RepriceJob[]> {
  const entries = await listRows(store, { prefix: keys.jobs("reprice", team) });
  return entries.map(({ value }) => value as RepriceJob).reverse();
}
