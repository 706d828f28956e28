/**
 * Work on runs that is due: retries of what failed, and checks that are judged later.
 *
 * A due row says only when to check a run; its failure and its summary say what to do. So a
 * superfluous row is harmless.
 *
 * @module
 */
import type { DueRun, PendingRun, RunTask } from "../../domain/runs/processing.ts";
import { failureAfter, isDead, retryAt, type RunFailure } from "../../domain/runs/stages.ts";
import type { Backoff } from "../../runtime/backoff.ts";
import { keyParts, keys } from "../base/keys.ts";
import { getMany, listRows, rowsAfter, type Store } from "../store.ts";
import { FairQueue } from "../../runtime/fair_queue.ts";
import { pendingName } from "../writer/pending_mark.ts";
import { failureSets } from "./failures.ts";

/** Due rows per read. */
const ROWS_PER_READ = 500;

/** Takes rows of runs that are due. Teams take turns among the rows of one read. */
export class DueRuns {
  readonly #store: Store;
  readonly #backoff: Backoff;
  /** Row after which the next read begins; null for the first read. */
  #after: Deno.KvKey | null = null;

  /** Creates a reader; runs in backoff are passed over. */
  constructor(store: Store, backoff: Backoff) {
    this.#store = store;
    this.#backoff = backoff;
  }

  /** Takes up to `max` runs that are due at `nowMs`. */
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
}

/** Takes rows of teams in turn. */
function inTurns(rows: readonly DueRun[], max: number): DueRun[] {
  const taken: DueRun[] = [];
  const lanes = new FairQueue<DueRun>();
  for (const row of rows) lanes.push(row.team, row);
  lanes.take((row) => taken.length < max && taken.push(row) > 0);
  return taken;
}

/** Returns what a due run needs; null if it waits for a later row, or for an operator. */
export async function beginWork(store: Store, row: DueRun): Promise<RunTask | null> {
  const { team, run } = row;
  const read = [keys.runFailure(team, run), keys.summary(team, run)];
  const [failed, summary] = await getMany(store, read);
  const failure = (failed?.value ?? null) as RunFailure | null;
  if (failure !== null && (isDead(failure) || retryAt(failure) > row.dueMs)) {
    await store.writer.commit({ team, checks: [dueCheck(row)], deletes: [dueKey(row)] });
    return null;
  }
  const versions = {
    failure: failed?.versionstamp ?? null,
    summary: summary?.versionstamp ?? null,
  };
  return { ...row, work: failure?.work ?? "checks", failure, versions };
}

/**
 * Removes the row of a task that succeeded, unless it was set again: the run began again.
 *
 * A failure that the work left is obsolete. It goes first, and the next turn finds out what else
 * the run waits for.
 */
export async function endWork(store: Store, task: RunTask): Promise<void> {
  const { team, run, versions } = task;
  const [failed, due] = await getMany(store, [keys.runFailure(team, run), dueKey(task)]);
  const isLeft = versions.failure !== null && failed?.versionstamp === versions.failure;
  const entry = isLeft ? failed : due?.versionstamp === task.version ? due : undefined;
  if (entry === undefined) return;
  await store.writer.commit({ team, checks: [entry], deletes: [entry.key] });
}

/** Records that a task failed, unless its run changed since: then the row stays due. */
export async function workFailed(
  store: Store,
  task: RunTask,
  error: unknown,
  nowMs: number,
): Promise<void> {
  const { team, run, work, versions } = task;
  // A clock that was set back must not file the row again that is deleted.
  const failure = failureAfter(task.failure, work, error, Math.max(nowMs, task.dueMs));
  await store.writer.commit({
    team,
    checks: [
      dueCheck(task),
      { key: keys.runFailure(team, run), versionstamp: versions.failure },
      { key: keys.summary(team, run), versionstamp: versions.summary },
    ],
    sets: failureSets(task, failure),
    deletes: [dueKey(task)],
  });
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
