/**
 * Repricing jobs.
 *
 * Each step of a job is one commit: new prices of some runs, together with the job's progress and
 * totals. So a job resumes after a crash and counts every call once.
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
import type { Environment } from "../../domain/core/environment.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { AuditEntry } from "../../domain/teams/audit_log.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { keys } from "../base/keys.ts";
import { type JobKeys, JobQueue } from "../job_queue.ts";
import { PendingWaits } from "../runs/pending_waits.ts";
import type { RepriceSpec } from "../../domain/repricing/reprice.ts";
import { newRowName } from "../base/names.ts";
import { countNames } from "./index.ts";
import { RepriceWork } from "./work.ts";
import { listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";

/** Maximum finished jobs stored for a team. */
const DONE_JOBS_MAX = 100;

const JOB_KEYS: JobKeys = {
  all: keys.repriceJobs,
  job: keys.repriceJob,
  active: keys.activeReprices,
  activeJob: keys.activeReprice,
};

export function createRepriceStore(
  store: Store,
  cards: RateCards,
  environment: Pick<Environment, "now">,
): RepriceStore {
  return new RepriceJobs(store, cards, environment.now);
}

class RepriceJobs extends JobQueue<RepriceJob> implements RepriceStore {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #work: RepriceWork;

  constructor(store: Store, cards: RateCards, now: () => number) {
    super(store, JOB_KEYS, new PendingWaits(store), now);
    this.#store = store;
    this.#now = now;
    this.#work = new RepriceWork(store, cards, now);
  }

  protected advance(team: TeamId, job: RepriceJob, entry: Deno.AtomicCheck) {
    return this.#work.advance(team, job, entry);
  }

  list({ id: team }: Team): Promise<RepriceJob[]> {
    return this.#store.reads.run(team, () => readJobs(this.#store, team));
  }

  /** Of two identical concurrent requests, the later one returns the job of the earlier one. */
  async create({ id: team }: Team, spec: RepriceSpec, dryRun: boolean, by: string) {
    const max = JOB_NAMES_MAX;
    const count = () => countNames(this.#store, team, spec, max);
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
      const deletes = old.map(({ id }) => keys.repriceJob(team, id));
      return { kind: "stored", job, rows: { sets: auditRows(startedEntry(team, job)), deletes } };
    });
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
  const entries = await listRows(store, { prefix: keys.repriceJobs(team) });
  return entries.map(({ value }) => value as RepriceJob).reverse();
}
