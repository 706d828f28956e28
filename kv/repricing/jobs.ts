/**
 * Repricing jobs.
 *
 * Each step of a job is one commit: new prices of some runs, together with the job's progress and
 * totals. It checks the job's version. So a job resumes after a crash, and counts every call once,
 * even if two workers run one step.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  ACTIVE_JOBS_MAX,
  JOB_NAMES_MAX,
  tooManyJobs,
  tooManyNames,
} from "../../domain/core/jobs.ts";
import {
  isSameJob,
  newJob,
  type RepriceJob,
  type RepriceStore,
} from "../../domain/repricing/job.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { RateCardStore } from "../../domain/pricing/rate_card.ts";
import type { AuditEntry } from "../../domain/teams/audit_log.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { keys } from "../base/keys.ts";
import { JobQueue } from "../job_queue.ts";
import { commitUnnoted } from "../runs/commit_parts.ts";
import { PendingWaits } from "../runs/pending_waits.ts";
import type { RepriceSpec } from "../../domain/repricing/reprice.ts";
import { newRowName } from "../base/names.ts";
import { countNames, gatherRuns, indexSpanOf } from "./index.ts";
import {
  addStep,
  type Draft,
  finishRun,
  isFull,
  type RepriceStep,
  repriceStep,
  type RepriceTarget,
} from "./run.ts";
import { listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";

/** Maximum finished jobs stored for a team. */
const DONE_JOBS_MAX = 100;

/** Runs of a step. */
const RUNS_PER_STEP = 32;

export function createRepriceStore(
  store: Store,
  cards: Pick<RateCardStore, "current">,
  environment: Pick<Environment, "now">,
): RepriceStore {
  return new RepriceJobs(store, cards, environment.now);
}

class RepriceJobs extends JobQueue<RepriceJob> implements RepriceStore {
  readonly #store: Store;
  readonly #cards: Pick<RateCardStore, "current">;
  readonly #now: () => number;
  /** Runs of the next step: fewer after a conflict, because runs change often then. */
  #runsMax: number = RUNS_PER_STEP;

  constructor(store: Store, cards: Pick<RateCardStore, "current">, now: () => number) {
    super(store, "reprice", new PendingWaits(store), now);
    [this.#store, this.#cards, this.#now] = [store, cards, now];
  }

  list({ id: team }: Team): Promise<RepriceJob[]> {
    return this.#store.reads.run(team, () => readJobs(this.#store, team));
  }

  /** Of two identical concurrent requests, the later one returns the job of the earlier one. */
  async create({ id: team }: Team, spec: RepriceSpec, dryRun: boolean, by: string) {
    const max = JOB_NAMES_MAX;
    const count = () => countNames({ store: this.#store, team }, spec, max);
    if (await this.#store.reads.run(team, count) > max) {
      return { kind: "refused", problem: tooManyNames(spec.model) } as const;
    }
    return await this.add(team, async () => {
      const jobs = await readJobs(this.#store, team);
      const same = jobs.find((job) => isSameJob(job, spec, dryRun));
      if (same !== undefined) return { kind: "replayed", job: same };
      const done = jobs.filter(({ state }) => state === "done");
      if (jobs.length - done.length >= ACTIVE_JOBS_MAX) {
        return { kind: "refused", problem: tooManyJobs("repricings") };
      }
      const job = newJob(newRowName(), spec, dryRun, by, this.#now());
      const old = done.slice(DONE_JOBS_MAX - 1);
      const deletes = old.map(({ id }) => keys.job("reprice", team, id));
      return { kind: "stored", job, rows: { sets: auditRows(startedEntry(team, job)), deletes } };
    });
  }

  protected async advance(
    team: TeamId,
    job: RepriceJob,
    entry: Deno.AtomicCheck,
  ): Promise<RepriceJob | null> {
    const draft: Draft = { job, checks: [entry], sets: [], pending: [] };
    if (job.state === "running") await this.#continue(team, draft);
    else {
      const span = await indexSpanOf({ store: this.#store, team }, job.spec);
      draft.job = span === null ? this.#done(job) : { ...job, state: "running", span };
    }
    const after = draft.job;
    const committed = await commitUnnoted(this.#store, {
      team,
      checks: draft.checks,
      sets: [...draft.sets, { key: entry.key, value: after }],
      deletes: after.state === "done" ? [keys.activeJob("reprice", team, job.id)] : [],
      pending: draft.pending,
    });
    // A conflict: a run changed, or another process took the step. The next step reads again.
    this.#runsMax = committed === null
      ? Math.max(1, this.#runsMax >> 1)
      : Math.min(RUNS_PER_STEP, this.#runsMax * 2);
    return committed === null ? null : after;
  }

  async #continue(team: TeamId, draft: Draft): Promise<void> {
    const { spec, cursor } = draft.job;
    const before = cursor.ahead;
    const ahead = before?.isComplete
      ? before
      : await gatherRuns({ store: this.#store, team }, draft.job, before);
    if (!ahead.isComplete) {
      draft.job = { ...draft.job, cursor: { ...cursor, ahead } };
      return;
    }
    // Another instance may just have stored the price that the job is for.
    const card = await this.#cards.current({ id: team });
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
