/**
 * Waits until the worker has brought a team's runs up to date.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { isCurrent } from "../../domain/runs/summary.ts";
import { groupsOf } from "../base/limits.ts";
import { keys } from "../base/keys.ts";
import { decodePending, parsePendingName } from "../writer/group.ts";
import { eachRow, type Store } from "../store.ts";
import { isStored, readHeads } from "./heads.ts";

/** Maximum jobs with a remembered position. */
const JOBS_MAX = 1_000;

/** Run heads per read. */
const HEADS_PER_READ = 40;

/** Lets jobs wait until the runs stored before them are in their team's indexes. */
export class PendingWaits {
  readonly #store: Store;
  /** First mark by job that may still be awaited; earlier ones are done. */
  readonly #places = new LRUCache<string, Deno.KvKey>({ max: JOBS_MAX });

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Returns whether no mark is awaited any more. Only the team's own runs that are not up to date
   * count: a mark may wait for a run of another team.
   *
   * @param version version of the job's creation; later marks do not count. Marks are not compared
   *   by name, because a clock that was set back sorts them elsewhere
   */
  async areOver(job: string, team: TeamId, version: string): Promise<boolean> {
    const prefix = keys.pendingMarks();
    const start = this.#places.get(job);
    const range = start === undefined ? { prefix } : { prefix, start };
    for await (const { key, value, versionstamp } of eachRow(this.#store, range)) {
      // Marks set from now on have a later version, so this position stays valid.
      this.#places.set(job, key);
      if (versionstamp < version && await this.#isAwaited(team, value)) return false;
    }
    this.#places.delete(job);
    return true;
  }

  async #isAwaited(team: TeamId, mark: unknown): Promise<boolean> {
    const runs = decodePending(mark).map(parsePendingName).filter((run) => run.team === team);
    const ids: RunId[] = [...new Set(runs.map(({ run }) => run))];
    for (const group of groupsOf(ids, HEADS_PER_READ)) {
      const heads = await readHeads({ store: this.#store, team }, group);
      if (heads.some(({ head, summary }) => isStored(head) && !isCurrent(summary, head))) {
        return true;
      }
    }
    return false;
  }
}
