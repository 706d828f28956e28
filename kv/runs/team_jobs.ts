/**
 * Jobs over the runs of a team, as work of the queue: stored, advanced step by step, and awaited by
 * callers.
 *
 * A job has one row of the queue. A turn takes steps for a short time and files the row again
 * at the end of the queue, so teams and their jobs take turns. Each step commits its progress with a
 * check of the job's row, so two processes never count a step twice.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import {
  ACTIVE_JOBS_MAX,
  type JobKind,
  type JobOutcome,
  type TeamJob,
  tooManyJobs,
} from "../../domain/core/jobs.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import { endsWithin } from "../../runtime/deadlines.ts";
import { KeyedMutex } from "../../runtime/fair_slots.ts";
import { pause } from "../../runtime/loop.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getAll, getEntry, getValue, type Store } from "../store.ts";
import { moveWork, workKey, workSet } from "../work/store.ts";
import type { Write } from "../writer/group.ts";
import { commitUnnoted } from "./commit_parts.ts";
import { PendingWaits } from "./pending_queue.ts";

/** Milliseconds of the steps of one turn. */
const TURN_MS = 500;

/** Milliseconds between reads of the marks that a job waits for. */
const MARKS_MS = 50;

/** Milliseconds until a job checks again for runs that the projector has postponed. */
const POSTPONED_MS = 1_000;

/** Milliseconds between a caller's reads of a job: the first doubles up to `max`. */
const POLL_MS = { first: 5, max: 250 } as const;

/** Dependencies of the jobs of all kinds. */
export interface TeamJobDeps {
  readonly store: Store;
  /** Returns unix milliseconds. */
  readonly now: () => number;
  /** Resolves once the projector has nothing left to do; it does not rest until then. */
  readonly untilProjected: () => Promise<void>;
  /** Milliseconds after which a turn takes no further step; {@link TURN_MS} when absent. */
  readonly turnMs?: number;
}

export interface JobStep<Job> {
  readonly team: TeamId;
  readonly job: Job;
  /** True once the time of the turn has passed. */
  readonly isOver: () => boolean;
  /** Stores the job, and rows with it; returns false on a conflict: then nothing is stored. */
  readonly commit: (after: Job, write?: Write) => Promise<boolean>;
}

/** A new job, with rows to store with it. */
interface NewJob<Job> {
  readonly job: Job;
  readonly write: Write;
}

/**
 * Creates the jobs of one kind.
 *
 * @param step takes one step of a job whose earlier runs are all projected
 */
export function createTeamJobs<Job extends TeamJob>(
  { store, now, untilProjected, turnMs = TURN_MS }: TeamJobDeps,
  kind: JobKind,
  step: (step: JobStep<Job>) => Promise<void>,
) {
  const waits = new PendingWaits(store);
  const locks = new KeyedMutex();

  const get = (team: { readonly id: TeamId }, id: string) =>
    getValue<Job>(store, keys.job(kind, team.id, id));

  async function tryToAdd(
    team: TeamId,
    isSame: (job: Job) => boolean,
    create: () => Promise<NewJob<Job>>,
  ): Promise<JobOutcome<Job> | typeof LOST> {
    const active = await getEntry(store, keys.jobs(kind, team));
    const ids = idsOf(active);
    const jobs = await getAll(store, ids.map((id) => keys.job(kind, team, id)));
    const same = jobs.map(({ value }) => value as Job | null).find((job) => job && isSame(job));
    if (same) return { kind: "replayed", job: same };
    if (ids.length >= ACTIVE_JOBS_MAX) tooManyJobs(kind);
    const { job, write } = await create();
    const version = await store.writer.commit({
      team,
      checks: [active],
      sets: [
        { key: active.key, value: [...ids, job.id] },
        { key: keys.job(kind, team, job.id), value: job },
        workSet({ at: job.createdAt, kind, team, name: job.id }),
        ...write.sets ?? [],
      ],
      deletes: write.deletes ?? [],
    });
    return version === null ? LOST : { kind: "stored", job };
  }

  /** Commits a step; a job that is done leaves the queue and the list of its team. */
  async function commitStep(row: Work, entry: Deno.AtomicCheck, job: Job, write: Write) {
    const { team, name } = row;
    const { checks = [], sets = [], deletes = [] } = write;
    const isDone = job.state === "done";
    const active = isDone ? await getEntry(store, keys.jobs(kind, team)) : null;
    const left = active && { key: active.key, value: idsOf(active).filter((id) => id !== name) };
    const version = await commitUnnoted(store, {
      ...write,
      team,
      checks: [entry, ...active ? [active] : [], ...checks],
      sets: [{ key: entry.key, value: job }, ...left ? [left] : [], ...sets],
      deletes: isDone ? [workKey(row), ...deletes] : deletes,
    });
    return version !== null;
  }

  /** Returns when to continue a job that waits, unix milliseconds; null if it need not wait. */
  async function waitsTo(row: Work, version: string, isOver: () => boolean) {
    const areOver = () => waits.areOver(row.name, row.team, version);
    if (await areOver()) return null;
    let isProjected = false;
    const projected = untilProjected().then(() => void (isProjected = true));
    for (;;) {
      await endsWithin(MARKS_MS, projected);
      const isIdle = isProjected;
      if (await areOver()) return null;
      if (isIdle) return now() + POSTPONED_MS;
      if (isOver()) return now();
    }
  }

  async function runSteps(row: Work, stopping: AbortSignal): Promise<void> {
    const { team, name } = row;
    const startMs = performance.now();
    const endsAfter = (ms: number) => performance.now() - startMs >= ms || stopping.aborted;
    const isOver = () => endsAfter(TURN_MS);
    do {
      const entry = await getEntry(store, keys.job(kind, team, name));
      const job = entry.value as Job | null;
      if (job === null || job.state === "done") return await moveWork(store, row, null);
      if (job.state === "waiting") {
        // While the job waits, its version has not changed since its creation.
        const at = await waitsTo(row, entry.versionstamp ?? "", isOver);
        if (at !== null) return await moveWork(store, row, at);
      }
      let isDone = false;
      const commit = async (after: Job, write: Write = {}) => {
        const isStored = await commitStep(row, entry, after, write);
        isDone = isStored && after.state === "done";
        return isStored;
      };
      await step({ team, job, isOver, commit });
      if (isDone) return;
    } while (!endsAfter(turnMs));
    await moveWork(store, row, now());
  }

  const handler: WorkHandler = {
    kind,
    async handle(rows, _time, stopping) {
      for (const row of rows) await runSteps(row, stopping);
      return [];
    },
  };
  return {
    handler,
    /** Reads a job of a team; null if the team has none with that id. */
    get,
    /** Returns the job once it is done, or in its current state after `ms` milliseconds. */
    async waitUntilDone(team: { readonly id: TeamId }, job: Job, ms: number): Promise<Job> {
      const endMs = performance.now() + ms;
      for (let pollMs: number = POLL_MS.first;; pollMs = Math.min(POLL_MS.max, pollMs * 2)) {
        const current = await get(team, job.id) ?? job;
        const leftMs = endMs - performance.now();
        if (current.state === "done" || leftMs <= 0) return current;
        await pause(Math.min(pollMs, leftMs));
      }
    },
    /**
     * Stores a new job, unless the same one is in progress or too many are; concurrent requests
     * store only one.
     */
    add: (
      team: TeamId,
      isSame: (job: Job) => boolean,
      create: () => Promise<NewJob<Job>>,
    ): Promise<JobOutcome<Job>> =>
      locks.take(team, () => untilCommitted("create a job", () => tryToAdd(team, isSame, create))),
  };
}

/** Returns the identifiers of a team's jobs in progress. */
function idsOf({ value }: Deno.KvEntryMaybe<unknown>): readonly string[] {
  return (value ?? []) as readonly string[];
}
