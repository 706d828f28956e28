/**
 * Waiting until the worker has brought the runs of a team up to date.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { isCurrent } from "../../domain/runs/summary.ts";
import { groupsOf } from "../base/groups.ts";
import { keys } from "../base/keys.ts";
import { decodePending, parsePendingName } from "../writer/pending_mark.ts";
import { listRows, type Store } from "../store.ts";
import { isStored, readHeads } from "./heads.ts";

/** Marks read for one question: each row is read once for a job, and some heads with it. */
const MARKS_PER_LOOK = 100;

/** Jobs whose place among the marks is remembered. */
const JOBS_MAX = 1_000;

/** Runs whose heads are read at once. */
const HEADS_PER_READ = 40;

/** Jobs that wait until the runs of a team that were stored before them are in its indexes. */
export class PendingWaits {
  readonly #store: Store;
  /** By job, the first mark that may still be waited for: those before it are not. */
  readonly #places = new LRUCache<string, Deno.KvKey>({ max: JOBS_MAX });

  /** Waits for nothing yet. */
  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Reads some marks further. Only marks of the job's own team count, and of them only those of runs that
   * are not up to date: a row may wait for a run of another team.
   *
   * @param version of the moment: marks set after it do not count. Names of marks would not tell: a clock
   *   that was set back sorts them elsewhere
   * @returns `over` once the last mark is passed, `further` when some were, else `waits`
   */
  async look(job: string, team: TeamId, version: string): Promise<"over" | "further" | "waits"> {
    const prefix = keys.pendingMarks();
    const start = this.#places.get(job);
    const range = start === undefined ? { prefix } : { prefix, start };
    const marks = await listRows(this.#store, range, { limit: MARKS_PER_LOOK });
    for (const { key, value, versionstamp } of marks) {
      // A mark that is set from now on has a later version, so this place is right for good.
      this.#places.set(job, key);
      if (versionstamp < version && await this.#isAwaited(team, value)) return "waits";
    }
    if (marks.length === MARKS_PER_LOOK) return "further";
    this.#places.delete(job);
    return "over";
  }

  async #isAwaited(team: TeamId, mark: unknown): Promise<boolean> {
    const runs = decodePending(mark).map(parsePendingName).filter((run) => run.team === team);
    const ids: RunId[] = [...new Set(runs.map(({ run }) => run))];
    for (const group of groupsOf(ids, HEADS_PER_READ)) {
      const some = await readHeads(this.#store, team, group);
      if (some.some(({ head, summary }) => isStored(head) && !isCurrent(summary, head))) {
        return true;
      }
    }
    return false;
  }
}
