/**
 * Work on runs that is due: retries of what failed, and checks that are judged later.
 *
 * A due row says only when to check a run; its failure and its summary say what to do. So a
 * superfluous row is harmless. A run has at most one failure: of its projection, or of checks. It is
 * retried when the row of its due time says so, until it is given up.
 *
 * @module
 */
import { kindLook } from "../../domain/alerts/look.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  DEAD_STAGES_LISTED_MAX,
  type DeadStage,
  type DueRun,
  failureAfter,
  isDead,
  type PendingRun,
  retryAt,
  type RunFailure,
  type RunTask,
} from "../../domain/runs/stages.ts";
import type { Backoff } from "../../runtime/backoff.ts";
import { keyParts, keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { workSet } from "../work/work_rows.ts";
import { eachRow, getEntry, getMany, listRows, rowsAfter, type Store } from "../store.ts";
import { FairQueue } from "../../runtime/fair_queue.ts";
import { pendingName } from "../writer/pending_mark.ts";
import type { KvSet } from "../writer/write.ts";

/** Due rows per read. */
const ROWS_PER_READ = 500;

/** Maximum failures of a team that are read: few of them are dead. */
const FAILURES_READ_MAX = 500;

/** Takes rows of runs that are due, and notes what became of their work. */
export class DueRuns {
  readonly #store: Store;
  readonly #backoff: Backoff;
  readonly #now: () => number;
  /** Row after which the next read begins; null for the first read. */
  #after: Deno.KvKey | null = null;

  /** Creates a reader; runs in backoff are passed over. */
  constructor(store: Store, backoff: Backoff, now: () => number) {
    this.#store = store;
    this.#backoff = backoff;
    this.#now = now;
  }

  /** Takes up to `max` runs that are due at `nowMs`. Teams take turns among the rows of one read. */
  async take(nowMs: number, max: number): Promise<readonly DueRun[]> {
    // Rows in backoff may fill complete reads: rows after them must not wait.
    for (let isFullPass = this.#after === null;;) {
      const rows = await dueRows(this.#store, ROWS_PER_READ, this.#after);
      const last = rows.at(-1);
      const isEnd = rows.length < ROWS_PER_READ || (last?.dueMs ?? 0) > nowMs;
      this.#after = isEnd || last === undefined ? null : dueKey(last);
      const due = rows.filter((row) => row.dueMs <= nowMs && !this.#backoff.has(nameOf(row)));
      if (due.length > 0) return inTurns(due, max);
      if (isEnd && isFullPass) return [];
      isFullPass ||= isEnd;
    }
  }

  /** Returns when the next run is due; null if none is. */
  async nextDueMs(): Promise<number | null> {
    let after: Deno.KvKey | null = null;
    while (true) {
      const rows = await dueRows(this.#store, after === null ? 1 : ROWS_PER_READ, after);
      const next = rows.find((row) => !this.#backoff.has(nameOf(row)));
      const last = rows.at(-1);
      if (next !== undefined || last === undefined) return next?.dueMs ?? null;
      after = dueKey(last);
    }
  }

  /** Returns what a due run needs; null if it waits for a later row, or for an operator. */
  async begin(row: DueRun): Promise<RunTask | null> {
    const { team, run } = row;
    const read = [keys.runFailure(team, run), keys.summary(team, run)];
    const [failed, summary] = await getMany(this.#store, read);
    const failure = (failed?.value ?? null) as RunFailure | null;
    if (failure !== null && (isDead(failure) || retryAt(failure) > row.dueMs)) {
      const write = { team, checks: [dueCheck(row)], deletes: [dueKey(row)] };
      await this.#store.writer.commit(write);
      return null;
    }
    const work = failure?.work ?? "checks";
    // A run that failed is read again: a head in memory may lack the part that cannot be read.
    if (work === "cost") this.#store.heads.forget(nameOf(row));
    const versions = {
      failure: failed?.versionstamp ?? null,
      summary: summary?.versionstamp ?? null,
    };
    return { ...row, work, failure, versions };
  }

  /**
   * Removes the row of a task that succeeded, unless it was set again: the run began again.
   *
   * A failure that the work left is obsolete. It goes first, and the next turn finds out what else
   * the run waits for.
   */
  async complete(task: RunTask): Promise<void> {
    const { team, run, versions } = task;
    const read = [keys.runFailure(team, run), dueKey(task)];
    const [failed, due] = await getMany(this.#store, read);
    const isLeft = versions.failure !== null && failed?.versionstamp === versions.failure;
    const entry = isLeft ? failed : due?.versionstamp === task.version ? due : undefined;
    if (entry !== undefined) {
      await this.#store.writer.commit({ team, checks: [entry], deletes: [entry.key] });
    }
    this.#backoff.done(nameOf(task));
  }

  /** Records that a task failed, unless its run changed since: then the row stays due. */
  async fail(task: RunTask, error: unknown): Promise<void> {
    const { team, run, work, versions } = task;
    // A clock that was set back must not file the row again that is deleted.
    const failure = failureAfter(task.failure, work, error, Math.max(this.#now(), task.dueMs));
    await this.#store.writer.commit({
      team,
      checks: [
        dueCheck(task),
        { key: keys.runFailure(team, run), versionstamp: versions.failure },
        { key: keys.summary(team, run), versionstamp: versions.summary },
      ],
      sets: failureSets(task, failure),
      deletes: [dueKey(task)],
    });
    this.#backoff.done(nameOf(task));
  }

  /** Records that the cost of a run could not be computed. */
  async costFailed(run: PendingRun, error: unknown): Promise<void> {
    const nowMs = this.#now();
    await change(this.#store, run, (last) => failureAfter(last, "cost", error, nowMs));
    this.#store.heads.forget(nameOf(run));
  }
}

/** Takes rows of teams in turn. */
function inTurns(rows: readonly DueRun[], max: number): DueRun[] {
  const taken: DueRun[] = [];
  const lanes = new FairQueue<DueRun>();
  for (const row of rows) lanes.push(row.team, row);
  lanes.take((row) => taken.length < max && taken.push(row) > 0);
  return taken;
}

function nameOf({ team, run }: PendingRun): string {
  return pendingName(team, run);
}

/** Returns the key of a due row. */
export function dueKey({ dueMs, team, run }: Omit<DueRun, "version">): Deno.KvKey {
  return keys.dueStage(dueMs, team, run);
}

function dueCheck(row: DueRun): Deno.AtomicCheck {
  return { key: dueKey(row), versionstamp: row.version };
}

async function dueRows(store: Store, max: number, after: Deno.KvKey | null): Promise<DueRun[]> {
  const rows = await listRows(store, rowsAfter(keys.dueStages(), after), { limit: max });
  return rows.map(({ key, versionstamp }) => ({
    dueMs: keyParts.dueMs(key),
    team: keyParts.dueTeam(key),
    run: keyParts.run(key),
    version: versionstamp,
  }));
}

/** Returns the rows of a failure: of the next try, or of the look that reports that none follows. */
function failureSets({ team, run }: PendingRun, failure: RunFailure): KvSet[] {
  const next = isDead(failure)
    ? workSet({ at: failure.at, kind: "rule", team, name: kindLook("service") })
    : { key: keys.dueStage(retryAt(failure), team, run), value: true };
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

/** Iterates over all work that is given up. */
export async function* deadStages(store: Store): AsyncGenerator<DeadStage> {
  for await (const row of eachRow<RunFailure>(store, { prefix: keys.failures() })) {
    if (isDead(row.value)) yield deadOf(row);
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
