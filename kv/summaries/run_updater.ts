/**
 * Commits that change what a team's runs come to.
 *
 * One commit holds what changes of many runs together with the difference that makes to the team's
 * roll-ups, agents and index. Its one check besides those of the runs is the version of the team's
 * roll-ups, which every such commit changes. So two processes can never add one difference twice, and
 * whoever changes a run knows what it counted for.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { agentRunOf } from "../../domain/agents/activity.ts";
import { differencesOf, mergeRows, type RollupRow } from "../../domain/spend/rollup.ts";
import { costOf } from "../writer/group.ts";
import { readHeads, type SummarizedHead } from "../runs/heads.ts";
import { BACK_ENDS } from "../base/limits.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { ChangeNotifier } from "../feed/change_notifier.ts";
import { feedRows } from "../feed/feed_rows.ts";
import { RemovedSums } from "../spend/removed_sums.ts";
import { RollupCache, type TeamRollups } from "../spend/rollup_cache.ts";
import { indexChange } from "../run_list/run_index.ts";
import type { Store } from "../store.ts";
import { ActivityCache } from "../agents/agents.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import { pendingName } from "../writer/pending_mark.ts";
import type { Write } from "../writer/write.ts";
import type { RunRows, RunUpdate, SumsAdjustment } from "../runs/run_update.ts";

/** Rows of one commit: fewer than the store takes, so that calls behind it need not wait long. */
const ROWS_PER_COMMIT_MAX = 500;

/** Runs of one commit. */
const RUNS_PER_COMMIT_MAX = 40;

/** Says what is to become of a run; null when nothing. It commits nothing itself. */
export type PlanUpdate = (run: SummarizedHead) => RunUpdate | null | Promise<RunUpdate | null>;

/** Is told which runs a commit was about. */
export type OnCommitted = (runs: readonly SummarizedHead[]) => void;

/** Changes runs of teams. All who do so in one process share it. */
export class RunUpdater {
  /** Rings for those who follow a team's changes. */
  readonly notifier: ChangeNotifier;
  readonly #store: Store;
  readonly #rollups: RollupCache;
  readonly #agents: ActivityCache;
  readonly #removed: RemovedSums;
  readonly #locks = new KeyedMutex();

  /** Remembers nothing of any team yet. */
  constructor(store: Store) {
    this.#store = store;
    this.notifier = new ChangeNotifier(store);
    this.#rollups = new RollupCache(store);
    this.#agents = new ActivityCache(store);
    this.#removed = new RemovedSums(store);
  }

  /**
   * Changes runs of one team as planned; commits of a team take turns, because they share a version.
   *
   * @param plan may be asked again about a run, when somebody else was faster
   * @param done is told of the runs of each commit, changed or not
   */
  change(
    team: TeamId,
    ids: readonly RunId[],
    plan: PlanUpdate,
    done: OnCommitted = () => {},
  ): Promise<void> {
    return this.#locks.take(team, () => this.#changeAll(team, ids, plan, done));
  }

  /**
   * The same where events go. Those that are on their way to these runs wait in this process: each would
   * change the ledger once more, and whoever removes the events of a busy run would never be first.
   */
  remove(
    team: TeamId,
    ids: readonly RunId[],
    plan: PlanUpdate,
    done: OnCommitted = () => {},
  ): Promise<void> {
    const names = ids.map((id) => pendingName(team, id));
    return this.#store.runLocks.takeAll(names, () => this.change(team, ids, plan, done));
  }

  /**
   * Takes differences from a team's roll-ups that belong to runs that are gone.
   *
   * @param plan reads what to take, and what else to commit; null when nothing. It may be asked again
   * @returns whether there was anything
   */
  adjust(team: TeamId, plan: () => Promise<SumsAdjustment | null>): Promise<boolean> {
    const adjust = async () => {
      const known = await this.#rollups.of(team);
      const planned = await plan();
      if (planned === null) return false;
      const rollups = await this.#rollups.change(team, known, planned.rows);
      const removed = await this.#removed.adjust(team, planned.rows);
      const version = await this.#store.writer.commit({
        team,
        checks: rollups.checks,
        sums: planned.sums,
        sets: [...rollups.sets, ...removed.sets],
        deletes: [...rollups.deletes, ...removed.deletes],
      });
      if (version === null) {
        this.#rollups.forget(team);
        return LOST;
      }
      rollups.remember(version);
      return true;
    };
    return this.#locks.take(team, () => untilCommitted("change roll-ups", adjust));
  }

  /** Reads the next runs while those before them are on their way to the disk. */
  async #changeAll(
    team: TeamId,
    ids: readonly RunId[],
    plan: PlanUpdate,
    done: OnCommitted,
  ): Promise<void> {
    // The version first: what is read after it is at least as new, and as long as only our own commits
    // change the version, nobody else has changed a summary since.
    let known = await this.#rollups.of(team);
    let ahead: Promise<readonly SummarizedHead[]> | null = null;
    for (let at = 0; at < ids.length; at += RUNS_PER_COMMIT_MAX) {
      const some = ids.slice(at, at + RUNS_PER_COMMIT_MAX);
      const runs = await (ahead ?? readHeads(this.#store, team, some));
      const next = ids.slice(at + RUNS_PER_COMMIT_MAX, at + 2 * RUNS_PER_COMMIT_MAX);
      ahead = next.length === 0 ? null : readHeads(this.#store, team, next);
      // When this commit throws, nobody waits for what was read ahead.
      ahead?.catch(() => {});
      const after = await this.#commit(team, known, runs, plan, done);
      known = after ?? await this.#changeAgain(team, some, plan, done);
      if (after === null) ahead = null;
    }
  }

  /** Changes runs until nobody else is faster. */
  #changeAgain(
    team: TeamId,
    ids: readonly RunId[],
    plan: PlanUpdate,
    done: OnCommitted,
  ): Promise<TeamRollups> {
    return untilCommitted("change runs", async () => {
      this.#rollups.forget(team);
      const known = await this.#rollups.of(team);
      const runs = await readHeads(this.#store, team, ids);
      return await this.#commit(team, known, runs, plan, done) ?? LOST;
    });
  }

  /**
   * Commits what becomes of runs as they were read under a version.
   *
   * @returns the roll-ups under the new version, or null when somebody else was faster
   */
  async #commit(
    team: TeamId,
    known: TeamRollups,
    runs: readonly SummarizedHead[],
    plan: PlanUpdate,
    done: OnCommitted,
  ): Promise<TeamRollups | null> {
    const changes: RunUpdate[] = [];
    // One after the other: a plan may read many events.
    for (const run of runs) {
      const change = await plan(run);
      if (change !== null) changes.push(change);
    }
    let after = known;
    if (changes.length > 0) {
      const { write, remember } = await this.#writeOf(team, known, changes);
      if (changes.length > 1 && this.#isTooMuch(write)) {
        const half = runs.length >> 1;
        const between = await this.#commit(team, known, runs.slice(0, half), plan, done);
        return between && await this.#commit(team, between, runs.slice(half), plan, done);
      }
      const version = await this.#store.writer.commit(write);
      if (version === null) return null;
      after = remember(version);
      this.notifier.notify(team, changes.map(({ run }) => run.id));
    }
    done(runs);
    return after;
  }

  /** The one write of many changes. */
  async #writeOf(
    team: TeamId,
    known: TeamRollups,
    changes: readonly RunUpdate[],
  ): Promise<{ readonly write: Write; readonly remember: (version: string) => TeamRollups }> {
    const feed = feedRows(team, changes, known.lastChange);
    const rollups = await this.#rollups.change(team, known, sumUp(changes), feed.lastChange);
    const agents = await this.#agents.change(team, known.version, changes.flatMap(agentChangeOf));
    const removed = await this.#removed.change(team, changes);
    const index = changes.map(({ run, before, after }) => indexChange(team, run.id, before, after));
    const rows = changes.map((change) => change.rows);
    const made: readonly Pick<RunRows, "sets">[] = [rollups, agents, removed, feed, ...index];
    return {
      write: {
        team,
        checks: [...rollups.checks, ...rows.flatMap(({ checks = [] }) => checks)],
        sums: rows.flatMap(({ sums = [] }) => sums),
        sets: [...made, ...rows].flatMap(({ sets }) => sets),
        deletes: [rollups, feed, ...index, ...rows].flatMap(({ deletes }) => deletes),
      },
      remember(version) {
        agents.remember(version);
        return rollups.remember(version);
      },
    };
  }

  /** Whether a commit had better be two. One run with the longest names always fits. */
  #isTooMuch(write: Write): boolean {
    const { checks, mutations, bytes, keyBytes } = costOf(write);
    const { bytesMax, keyBytesMax } = BACK_ENDS.remote;
    return mutations > ROWS_PER_COMMIT_MAX || bytes > bytesMax || keyBytes > keyBytesMax ||
      checks > this.#store.limits.checksMax;
  }
}

function agentChangeOf({ run: { id }, before, after, remains = null }: RunUpdate) {
  const [old, now] = [agentRunOf(id, before), agentRunOf(id, after ?? remains)];
  return old === null && now === null ? [] : [{ before: old, after: now }];
}

/** The differences of all changes, one row for each group. */
function sumUp(changes: readonly RunUpdate[]): RollupRow[] {
  return mergeRows(changes.flatMap(({ before, after, remains }) => {
    const now = after ?? remains ?? null;
    return differencesOf(before?.contribution ?? null, now?.contribution ?? null);
  }));
}
