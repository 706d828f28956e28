/**
 * Work on runs that is due: retries of what failed, and checks that are judged later.
 *
 * A due row says only when to check a run; its failure and its summary say what to do. So a
 * superfluous row is harmless. A run has at most one failure: of its projection, or of checks. It is
 * retried when the row of its due time says so, until it is given up.
 *
 * @module
 */
import { kindName } from "../../domain/alerts/signal.ts";
import { isOfStore } from "../../domain/core/errors.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import {
  DEAD_STAGES_LISTED_MAX,
  type DeadStage,
  failureAfter,
  isDead,
  nextTryAt,
  type PendingRun,
  type RunFailure,
  type RunWork,
} from "../../domain/runs/stages.ts";
import type { Work, WorkHandler, WorkKind } from "../../domain/work/work.ts";
import { type JobDeps, jobLine } from "../../runtime/loop.ts";
import { keyParts, keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { workKey, workOf, workSet } from "../work/store.ts";
import { eachRow, getEntry, getMany, listRows, type Store } from "../store.ts";
import { type KvSet, pendingName } from "../writer/group.ts";

/** Maximum failures of a team that are read: few of them are dead. */
const FAILURES_READ_MAX = 500;

/** Dependencies of the work. */
export interface RunWorkDeps extends JobDeps {
  readonly store: Store;
  /** Updates the summary of a run whose projection failed. */
  readonly project: (team: TeamId, runs: readonly RunId[]) => Promise<void>;
  /** Judges a run by its checks, as it is now; does nothing if it awaits none. */
  readonly judge: (row: Work) => Promise<void>;
  /** Called with a run whose work has ended or failed. */
  readonly onChanged: (team: TeamId, runs: readonly RunId[]) => void;
}

/** Work on a run that is due. */
interface RunTask {
  readonly row: Work;
  /** The row as it was read: it may be filed again meanwhile. */
  readonly due: Deno.AtomicCheck;
  readonly work: RunWork;
  /** Failure of an earlier try; null for none. */
  readonly failure: RunFailure | null;
  /** Versions of the failure and the summary that the task is about. */
  readonly seen: { readonly failure: Deno.AtomicCheck; readonly summary: Deno.AtomicCheck };
}

/** Creates the handler of runs that are due. */
export function createRunWork(deps: RunWorkDeps): WorkHandler {
  return {
    kind: "run",
    async handle(rows) {
      for (const row of rows) await workOn(deps, row);
      return [];
    },
  };
}

/** Does what a run waits for; a failure is stored, and retried later or given up. */
async function workOn(deps: RunWorkDeps, row: Work): Promise<void> {
  const { store, project, judge, onChanged, now, log } = deps;
  const [team, run] = [row.team, row.name as RunId];
  const task = await begin(store, row);
  if (task === null) return;
  try {
    if (task.work === "cost") await project(team, [run]);
    else await judge(row);
  } catch (error) {
    if (isOfStore(error)) throw error;
    log(jobLine(now(), { work: `Stage ${task.work} of a run of team ${team} failed` }, error));
    await fail(store, task, error ?? new Error("Failed without a reason"), now());
    return onChanged(team, [run]);
  }
  await complete(store, task);
  onChanged(team, [run]);
}

/** Returns what a due run needs; null if it waits for a later row, or for an operator. */
async function begin(store: Store, row: Work): Promise<RunTask | null> {
  const [team, run] = [row.team, row.name as RunId];
  const [due, failed, summary] = await getMany(store, [
    workKey(row),
    keys.runFailure(team, run),
    keys.summary(team, run),
  ]);
  if (due === undefined || due.versionstamp === null) return null;
  if (failed === undefined || summary === undefined) return null;
  const failure = failed.value as RunFailure | null;
  const tryAt = failure === null ? row.at : nextTryAt(failure);
  if (tryAt === "dead" || tryAt > row.at) {
    await store.writer.commit({ team, checks: [due], deletes: [due.key] });
    return null;
  }
  const work = failure?.work ?? "checks";
  // A run that failed is read again: a head in memory may lack the part that cannot be read.
  if (work === "cost") store.heads.forget(pendingName(team, run));
  return { row, due, work, failure, seen: { failure: failed, summary } };
}

/**
 * Removes the row of a task that succeeded, unless it was set again: the run began again.
 *
 * A failure that the work left is obsolete. It goes first, and the next turn finds out what else the
 * run waits for.
 */
async function complete(store: Store, { row: { team }, due, seen }: RunTask): Promise<void> {
  const [failed, row] = await getMany(store, [seen.failure.key, due.key]);
  const isLeft = seen.failure.versionstamp !== null &&
    failed?.versionstamp === seen.failure.versionstamp;
  const entry = isLeft ? failed : row?.versionstamp === due.versionstamp ? row : undefined;
  if (entry === undefined) return;
  await store.writer.commit({ team, checks: [entry], deletes: [entry.key] });
}

/** Records that a task failed, unless its run changed since: then the row stays due. */
async function fail(store: Store, task: RunTask, error: unknown, nowMs: number): Promise<void> {
  const { row, due, work, seen } = task;
  // A clock that was set back must not file the row again that is deleted.
  const failure = failureAfter(task.failure, work, error, Math.max(nowMs, row.at));
  await store.writer.commit({
    team: row.team,
    checks: [due, seen.failure, seen.summary],
    sets: failureSets({ team: row.team, run: row.name as RunId }, failure),
    deletes: [due.key],
  });
}

/** Records that the cost of a run could not be computed. */
export async function costFailed(
  store: Store,
  run: PendingRun,
  error: unknown,
  nowMs: number,
): Promise<void> {
  await change(store, run, (last) => failureAfter(last, "cost", error, nowMs));
  store.heads.forget(pendingName(run.team, run.run));
}

/** Returns the row at which the work on a run is due. */
export function runWorkRow({ team, run }: PendingRun, at: number): KvSet {
  return workSet({ at, kind: "run", team, name: run });
}

/** Returns the rows of a failure: of the next try, or of the work that reports that none follows. */
function failureSets({ team, run }: PendingRun, failure: RunFailure): KvSet[] {
  const tryAt = nextTryAt(failure);
  const next = tryAt === "dead"
    ? workSet({ at: failure.at, kind: "rule", team, name: kindName("service") })
    : runWorkRow({ team, run }, tryAt);
  return [{ key: keys.runFailure(team, run), value: failure }, next];
}

/** Resets the attempts of work that is given up; returns false if the run has none. */
export function revive(store: Store, run: PendingRun, nowMs: number): Promise<boolean> {
  return change(
    store,
    run,
    (last) => last === null || !isDead(last) ? null : { ...last, tries: 0, at: nowMs },
  );
}

/** Replaces a failure; returns false if `to` returns null, which leaves it. */
function change(
  store: Store,
  run: PendingRun,
  to: (last: RunFailure | null) => RunFailure | null,
): Promise<boolean> {
  return untilCommitted("write a failure", async () => {
    const entry = await getEntry(store, keys.runFailure(run.team, run.run));
    const failure = to(entry.value as RunFailure | null);
    if (failure === null) return false;
    const write = { team: run.team, checks: [entry], sets: failureSets(run, failure) };
    return await store.writer.commit(write) === null ? LOST : true;
  });
}

/** Work that failed, and is tried again or given up. */
export interface FailedWork {
  /** Kind of the work; of a run, the stage that failed. */
  readonly kind: WorkKind | RunFailure["work"];
  readonly team: TeamId;
  /** Name of the object, such as the id of a run. */
  readonly name: string;
  /** Failed tries. */
  readonly tries: number;
  /** Error of the last one. */
  readonly error: string;
  /** Time of the next one, unix milliseconds. */
  readonly nextAt: number | "dead";
}

/** Iterates over the failures of runs, and over the rows of the work queue that were postponed. */
export async function* failedWork(store: Store): AsyncGenerator<FailedWork> {
  for await (const { key, value } of eachRow<RunFailure>(store, { prefix: keys.failures() })) {
    const { work: kind, tries, error } = value;
    const [team, name] = [keyParts.team(key), keyParts.run(key)];
    yield { kind, team, name, tries, error, nextAt: nextTryAt(value) };
  }
  for await (const row of eachRow(store, { prefix: keys.work() })) {
    const { kind, team, name, failures: tries, error, at: nextAt } = workOf(row);
    if (error !== undefined) yield { kind, team, name, tries, error, nextAt };
  }
}

/** Reads work of a team's runs that is given up, of its first 500 failures. */
export async function readDead(store: Store, team: TeamId): Promise<DeadStage[]> {
  const range = { prefix: keys.runFailures(team) };
  const rows = await listRows<RunFailure>(store, range, { limit: FAILURES_READ_MAX });
  return rows.filter(({ value }) => isDead(value)).map(deadOf);
}

/** Reads the dead stages of a team. */
export type DeadStageStore = ReturnType<typeof createDeadStageStore>;

/** Creates the store of dead stages as people read them. */
export function createDeadStageStore(store: Store) {
  return {
    /** Returns the dead stages, and whether there are more; reads a bounded number of rows. */
    ofTeam: ({ id }: { readonly id: TeamId }) =>
      store.reads.run(id, async () => {
        const stages = await readDead(store, id);
        const hasMore = stages.length > DEAD_STAGES_LISTED_MAX;
        return { stages: stages.slice(0, DEAD_STAGES_LISTED_MAX), hasMore };
      }),
  };
}

function deadOf({ key, value: failure }: Deno.KvEntry<RunFailure>): DeadStage {
  return { team: keyParts.team(key), run: keyParts.run(key), failure };
}
