/**
 * Jobs that price calls anew.
 *
 * Each step of a job is one commit: the new prices of some runs together with how far the job has come
 * and what it came to. So a job goes on where a killed process left it, and counts every call once.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
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
import type { RateCards } from "../../domain/pricing/rate_store.ts";
import type { AuditEntry } from "../../domain/teams/audit_log.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { JobWaiters } from "../base/job_waiters.ts";
import { keys } from "../base/keys.ts";
import { newRowName } from "../base/names.ts";
import { COMMIT_ATTEMPTS_MAX } from "../base/limits.ts";
import { countNames } from "./index.ts";
import { RepriceWork } from "./work.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";

/** Jobs of a team that are kept when all are done. */
const DONE_JOBS_MAX = 100;

/** Creates the store of jobs. */
export function createRepriceStore(
  store: Store,
  cards: RateCards,
  environment: Pick<Environment, "now">,
): RepriceStore {
  const waiters = new JobWaiters<RepriceJob>();
  const work = new RepriceWork(store, cards, environment.now, (job) => waiters.tell(job));
  const turns = new KeyedMutex();

  async function waitUntilDone(team: Team, job: RepriceJob, ms: number): Promise<RepriceJob> {
    using waiter = waiters.waitFor(job.id, ms);
    // It may have been done before anybody waited.
    const now = await readJob(store, team.id, job.id);
    if (now === null || now.state === "done") return now ?? job;
    return await waiter.done ?? await readJob(store, team.id, job.id) ?? job;
  }

  return {
    waitUntilDone,
    list: (team) => store.reads.run(team.id, () => readJobs(store, team.id)),
    get: (team, id) => readJob(store, team.id, id),
    work: () => work.turns.work(),
    get underWay() {
      return work.turns.underWay;
    },
    async create(team, spec, dryRun, by) {
      const max = JOB_NAMES_MAX;
      const names = await store.reads.run(team.id, () => countNames(store, team.id, spec, max));
      if (names > max) return { kind: "refused", problem: tooManyNames(spec.model) };
      const newOne = () => newJob(newRowName(), spec, dryRun, by, environment.now());
      const made = await turns.take(team.id, () => findOrMake(store, team.id, newOne));
      if (made.kind !== "refused") store.workerSignal.raise();
      return made;
    },
  };
}

/**
 * Finds the same job under way, or makes one. Each new job changes one version, so that of two same
 * requests at once the later finds the job of the earlier.
 */
async function findOrMake(
  store: Store,
  team: TeamId,
  newOne: () => RepriceJob,
): ReturnType<RepriceStore["create"]> {
  const versionKey = keys.repriceJobs(team);
  for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX; attempt++) {
    const [version] = await getMany(store, [versionKey]);
    const jobs = await readJobs(store, team);
    const job = newOne();
    const same = jobs.find((known) => isSameJob(known, job.spec, job.dryRun));
    if (same !== undefined) return { kind: "replayed", job: same };
    const done = jobs.filter(({ state }) => state === "done");
    if (jobs.length - done.length >= ACTIVE_JOBS_MAX) {
      return { kind: "refused", problem: tooManyJobs("repricings") };
    }
    const old = done.slice(DONE_JOBS_MAX - 1);
    const committed = await store.writer.commit({
      team,
      checks: [{ key: versionKey, versionstamp: version?.versionstamp ?? null }],
      sets: [
        { key: versionKey, value: true },
        { key: keys.repriceJob(team, job.id), value: job },
        { key: keys.activeReprice(team, job.id), value: true },
        ...auditRows(startedEntry(team, job)),
      ],
      deletes: old.map(({ id }) => keys.repriceJob(team, id)),
    });
    if (committed !== null) return { kind: "stored", job };
  }
  throw new StorageUnavailable("Cannot make a job: other writers were always first");
}

/** What the audit log says of a new job. */
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

/** A team's jobs, newest first. */
async function readJobs(store: Store, team: TeamId): Promise<RepriceJob[]> {
  const entries = await listRows(store, { prefix: keys.repriceJobs(team) });
  return entries.map(({ value }) => value as RepriceJob).reverse();
}

async function readJob(store: Store, team: TeamId, id: string): Promise<RepriceJob | null> {
  const [entry] = await getMany(store, [keys.repriceJob(team, id)]);
  return (entry?.value ?? null) as RepriceJob | null;
}
