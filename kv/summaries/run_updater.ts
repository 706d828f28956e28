/**
 * Commits changes of runs together with the totals that include them.
 *
 * One commit holds changes of many runs and their difference to the team's roll-ups, agents and
 * index. In addition to the checks of the runs, it checks the version of the team's roll-ups, which
 * every such commit changes. So two processes never add one difference twice, and the commit always
 * knows what a run counted for before.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { addCounts } from "../../domain/core/sums.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { agentRunOf } from "../../domain/agents/activity.ts";
import { type ContributionChange, differencesOf } from "../../domain/spend/rollup.ts";
import { sizeOf } from "../writer/group.ts";
import { readHeads, recallHeads, type SummarizedHead } from "../runs/heads.ts";
import { encodeSums } from "../base/codec_sums.ts";
import { type EntryToAdd, type EntryToRemove, packEntries } from "../base/entries.ts";
import { groupsOf } from "../base/groups.ts";
import { keys } from "../base/keys.ts";
import { BACK_ENDS, type WriteSize } from "../base/limits.ts";
import { LOST, untilCommitted, untilCommittedInTime } from "../base/retry.ts";
import { ChangeNotifier } from "../feed/change_notifier.ts";
import { type FeedChange, feedChange } from "../feed/feed_rows.ts";
import { changeRemovedSums, removedRunSets } from "../spend/removed_sums.ts";
import { RollupCache, type TeamRollups } from "../spend/rollup_cache.ts";
import { indexChange, type Orders } from "../run_list/run_index.ts";
import { removeEntries } from "../entries.ts";
import type { Store } from "../store.ts";
import { ActivityCache } from "../agents/agents.ts";
import { signalRows } from "../monitors/signals.ts";
import type { TeamChanges, TeamPlan } from "../monitors/team_changes.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import { pendingName } from "../writer/pending_mark.ts";
import type { KvSet, Write } from "../writer/write.ts";
import type { RunRows, RunUpdate, SumsAdjustment } from "../runs/run_update.ts";

/**
 * Maximum rows of one commit: fewer than the store allows, so that queued calls do not wait long.
 */
const ROWS_PER_COMMIT_MAX = 500;

/**
 * Maximum runs of one commit. Each may add a check of its summary to the check of the version; a
 * store with fewer checks has no heads in memory to check.
 */
const RUNS_PER_COMMIT_MAX = 98;

/** Checks of a commit that removes a run: three of its rows, and the version of the roll-ups. */
const REMOVAL_CHECKS = { run: 3, team: 1 } as const;

/** Teams whose number of runs that fit is kept. */
const TEAMS_MAX = 1_000;

/** Maximum keys that one commit deletes for others. */
const DUE_DELETES_MAX = 100;

/**
 * Maximum blocks that hold entries of one run: those of its opening, its close, and one more. A
 * run that changes more often gets rows of its own, so that few blocks are searched for an entry.
 */
const BLOCKS_PER_RUN_MAX = 3;

/** Plans the update of a run; null for no change. It commits nothing. */
export type PlanUpdate = (run: SummarizedHead) => RunUpdate | null | Promise<RunUpdate | null>;

/** Summaries as a commit stores them, with their change numbers and blocks. */
type Summaries = ReadonlyMap<RunId, RunSummary>;

/** Receives the runs that a commit covered, and the summaries that it stored under a version. */
export type OnCommitted = (
  runs: readonly SummarizedHead[],
  summaries: Summaries,
  version: string,
) => void;

/** Keys to delete with a commit that has room for them, because a commit costs more than they do. */
export interface DueDeletes {
  /** Returns at most `max` keys that are not deleted yet. */
  readonly keys: (max: number) => readonly Deno.KvKey[];
  /** Receives deleted keys. */
  readonly deleted: (keys: readonly Deno.KvKey[]) => void;
}

/** Plans updates, and receives what was committed. */
interface UpdateSteps {
  readonly plan: PlanUpdate;
  readonly done: OnCommitted;
  readonly deletes?: DueDeletes;
}

/** Changes runs of teams. All code that changes runs in one process shares it. */
export class RunUpdater implements TeamChanges {
  /** Notifies the watchers of a team's changes. */
  readonly notifier: ChangeNotifier;
  readonly #store: Store;
  readonly #rollups: RollupCache;
  readonly #agents: ActivityCache;
  /** Runs that fitted a team's latest commits, if fewer: a commit must be built to measure it. */
  readonly #runsThatFit = new LRUCache<TeamId, number>({ max: TEAMS_MAX });
  readonly #locks = new KeyedMutex();

  constructor(store: Store) {
    this.#store = store;
    this.notifier = new ChangeNotifier(store);
    this.#rollups = new RollupCache(store);
    this.#agents = new ActivityCache(store);
  }

  /**
   * Changes runs of one team as planned. Commits of one team are serialized, because they share a
   * version.
   *
   * @param plan called again for a run after a conflict with another process
   * @param done receives the runs of each commit, changed or not
   */
  change(
    team: TeamId,
    ids: readonly RunId[],
    plan: PlanUpdate,
    done: OnCommitted = () => {},
  ): Promise<void> {
    const read = (ids: readonly RunId[]) => readHeads({ store: this.#store, team }, ids);
    // Also after an error: the commit may have been stored.
    const forget = () => ids.forEach((run) => this.#store.heads.forget({ team, run }));
    return this.#change(team, ids, read, { plan, done }, forget);
  }

  /**
   * Brings runs of one team up to date, as `change` does. Runs whose head is in memory are not read.
   *
   * @param oldestMark name of the oldest row of marks that is not consumed
   */
  project(
    team: TeamId,
    ids: readonly RunId[],
    oldestMark: string,
    steps: Required<UpdateSteps>,
  ): Promise<void> {
    const { done } = steps;
    const { heads } = this.#store;
    const recall = (ids: readonly RunId[]) =>
      recallHeads({ store: this.#store, team }, ids, oldestMark);
    const settle: OnCommitted = (runs, summaries, version) => {
      for (const { id, recent, changes } of runs) {
        const summary = summaries.get(id);
        heads.settle(team, id, recent, changes, summary ? { summary, version } : null);
      }
      done(runs, summaries, version);
    };
    return this.#change(team, ids, recall, { ...steps, done: settle });
  }

  #change(
    team: TeamId,
    ids: readonly RunId[],
    read: (ids: readonly RunId[]) => Promise<SummarizedHead[]>,
    steps: UpdateSteps,
    atEnd: () => void = () => {},
  ): Promise<void> {
    const changeAll = async () => {
      // Reads the version first: later reads are at least as new. While only commits of this process
      // change the version, no other process has changed a summary.
      let rollups = await this.#rollups.of(team);
      let ahead: Promise<readonly SummarizedHead[]> | null = null;
      let group = ids.slice(0, this.#runsPerCommit(team));
      for (let at = group.length; group.length > 0; at += group.length) {
        const runs = await (ahead ?? read(group));
        const next = ids.slice(at, at + this.#runsPerCommit(team));
        // Reads the next runs while the previous ones are being committed.
        ahead = next.length === 0 ? null : read(next);
        // If this commit throws, the runs read ahead are not awaited.
        ahead?.catch(() => {});
        const after = await this.#commit(team, rollups, runs, steps);
        rollups = after ?? await untilCommitted("change runs", async () => {
          this.#rollups.forget(team);
          const current = await this.#rollups.of(team);
          const runs = await readHeads({ store: this.#store, team }, group);
          return await this.#commit(team, current, runs, steps) ?? LOST;
        });
        if (after === null) ahead = null;
        group = next;
      }
    };
    // Before the next change of the team begins.
    return this.#locks.take(team, () => changeAll().finally(atEnd));
  }

  /**
   * Changes runs as `change` does, for plans that remove events. It locks the runs against new
   * events in this process: each event changes the ledger, and removal from a busy run would never
   * win the conflict. Only the runs of one commit are locked at a time, because their calls wait.
   */
  async remove(
    team: TeamId,
    ids: readonly RunId[],
    plan: PlanUpdate,
    done: OnCommitted = () => {},
  ): Promise<void> {
    const runs = (this.#store.limits.checks - REMOVAL_CHECKS.team) / REMOVAL_CHECKS.run;
    for (const group of groupsOf(ids, Math.floor(runs))) {
      const names = group.map((id) => pendingName(team, id));
      await this.#store.runLocks.takeAll(names, () => this.change(team, group, plan, done));
    }
  }

  /**
   * Adjusts a team's roll-ups by differences that belong to removed runs.
   *
   * @param plan reads the differences and what else to commit; null for none. It may be called
   * again
   */
  adjust(team: TeamId, plan: () => Promise<SumsAdjustment | null>): Promise<void> {
    const adjust = async () => {
      const current = await this.#rollups.of(team);
      const planned = await plan();
      if (planned === null) return;
      const rollups = await this.#rollups.change(team, current, planned.rows);
      const removed = await changeRemovedSums({ store: this.#store, team }, planned.rows);
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
    };
    return this.#locks.take(team, () => untilCommitted("change roll-ups", adjust));
  }

  /** See {@link TeamChanges.changeInTurn}. */
  changeInTurn<Result>(
    team: TeamId,
    by: "call" | "clock",
    plan: () => Promise<TeamPlan<Result>>,
  ): Promise<Result> {
    const attempt = async () => {
      const current = await this.#rollups.of(team);
      const { result, rows, onCommitted = () => {} } = await plan();
      if (rows === null) return result;
      const rollups = await this.#rollups.change(team, current, []);
      const agents = await this.#agents.change(team, current.version, []);
      const version = await this.#store.writer.commit({
        team,
        checks: [...rollups.checks, ...rows.checks ?? []],
        sets: [...rollups.sets, ...rows.sets],
        deletes: rows.deletes,
      });
      if (version === null) {
        this.#rollups.forget(team);
        return LOST;
      }
      agents.remember(version, rows.monitors ?? new Map());
      rollups.remember(version);
      onCommitted(version);
      return result;
    };
    const { deadlines } = this.#store;
    const task = "change a team";
    const locked = (work: () => Promise<Result>) => this.#locks.take(team, work);
    return by === "clock"
      ? locked(() => untilCommitted(task, attempt))
      : untilCommittedInTime(task, deadlines, attempt, locked);
  }

  /**
   * Commits the updates of runs that were read under a version.
   *
   * @returns the roll-ups under the new version, or null after a conflict
   */
  async #commit(
    team: TeamId,
    rollups: TeamRollups,
    runs: readonly SummarizedHead[],
    steps: UpdateSteps,
  ): Promise<TeamRollups | null> {
    const changes: RunUpdate[] = [];
    // Plans run in sequence, because each may read many events.
    for (const run of runs) {
      const planned = steps.plan(run);
      const change = planned instanceof Promise ? await planned : planned;
      if (change !== null) changes.push(change);
    }
    let after = rollups;
    let stored = "";
    let committed: Summaries = new Map();
    if (changes.length > 0) {
      const { write, summaries, remember } = await this.#writeOf(team, rollups, changes);
      const size = sizeOf(write);
      if (changes.length > 1 && this.#isTooLarge(size)) {
        const half = runs.length >> 1;
        this.#runsThatFit.set(team, Math.max(1, half));
        const between = await this.#commit(team, rollups, runs.slice(0, half), steps);
        return between && await this.#commit(team, between, runs.slice(half), steps);
      }
      const due = steps.deletes?.keys(DUE_DELETES_MAX) ?? [];
      const deletes = this.#isTooLarge(addCounts(size, sizeOf({ deletes: due }))) ? [] : due;
      const version = await this.#store.writer.commit({
        ...write,
        deletes: [...write.deletes, ...deletes],
      });
      if (version === null) return null;
      steps.deletes?.deleted(deletes);
      if (size.mutations * 2 < ROWS_PER_COMMIT_MAX) this.#fitMore(team);
      stored = version;
      after = remember(version);
      const versions = { before: rollups.version, after: version };
      this.notifier.notify(team, changes.map(({ run }) => run.id), versions);
      committed = summaries;
    }
    steps.done(runs, committed, stored);
    return after;
  }

  #runsPerCommit(team: TeamId): number {
    return this.#runsThatFit.get(team) ?? RUNS_PER_COMMIT_MAX;
  }

  /** Doubles the runs of a team's next commits. */
  #fitMore(team: TeamId): void {
    const runs = 2 * this.#runsPerCommit(team);
    if (runs < RUNS_PER_COMMIT_MAX) this.#runsThatFit.set(team, runs);
    else this.#runsThatFit.delete(team);
  }

  /** Builds one write from many changes. */
  async #writeOf(
    team: TeamId,
    current: TeamRollups,
    changes: readonly RunUpdate[],
  ): Promise<{
    readonly write: Write & Required<Pick<Write, "deletes">>;
    readonly summaries: Summaries;
    readonly remember: (version: string) => TeamRollups;
  }> {
    const feed = feedChange(team, changes, current.lastChange);
    const entries = await this.#entriesOf(team, current, changes, feed);
    const rollups = await this.#rollups.change(
      team,
      current,
      differencesOf(changes.map(contributionChangeOf)),
      feed.lastChange,
    );
    const agents = await this.#agents.change(team, current.version, changes.flatMap(agentChangeOf));
    const monitors = await signalRows(this.#store, team, agents.agents, changes);
    const removed = { sets: await removedRunSets({ store: this.#store, team }, changes) };
    const rows = changes.map((change) => change.rows);
    const changed: readonly Pick<RunRows, "sets">[] = [
      rollups,
      agents,
      monitors,
      removed,
      feed,
      entries,
    ];
    return {
      write: {
        team,
        checks: [...rollups.checks, ...rows.flatMap(({ checks = [] }) => checks)],
        sums: rows.flatMap(({ sums = [] }) => sums),
        sets: [...changed, ...rows].flatMap(({ sets }) => sets),
        deletes: [rollups, monitors, entries, ...rows].flatMap(({ deletes }) => deletes),
      },
      summaries: entries.summaries,
      remember(version) {
        agents.remember(version, monitors.monitors);
        return rollups.remember(version);
      },
    };
  }

  /** Returns the rows of entries and summaries. */
  async #entriesOf(
    team: TeamId,
    { lastChange }: TeamRollups,
    changes: readonly RunUpdate[],
    feed: FeedChange,
  ): Promise<Pick<RunRows, "sets" | "deletes"> & { readonly summaries: Summaries }> {
    // Runs whose summary can record one more block.
    const sharing = new Set<RunId>();
    const added: EntryToAdd[] = [];
    const removed: EntryToRemove[] = [...feed.removed];
    const orders: Orders = new Map();
    for (const { run: { id }, before, after, rows } of changes) {
      const blocks = before?.blocks?.length ?? 0;
      if (feed.numbers.has(id) && blocks < BLOCKS_PER_RUN_MAX) sharing.add(id);
      const index = indexChange(team, id, before, after, orders);
      for (const entry of index.added) added.push(entry);
      for (const entry of rows.added ?? []) added.push(entry);
      for (const entry of [...index.removed, ...rows.removed ?? []]) removed.push(entry);
    }
    // The first number of the commit is unique, so it also identifies its blocks.
    const number = feed.lastChange > lastChange ? lastChange + 1 : null;
    const packed = packEntries([...feed.added, ...added], number, sharing);
    const kept = await removeEntries(this.#store, removed);
    const sets: KvSet[] = [...kept.sets, ...packed.sets];
    const summaries = new Map<RunId, RunSummary>();
    for (const { run: { id }, before, after } of changes) {
      const numbers = feed.numbers.get(id);
      if (after === null || numbers === undefined) continue;
      const blocks = [...before?.blocks ?? [], ...packed.shared.has(id) ? [number ?? 0] : []];
      const stored = { ...after, changes: numbers, ...blocks.length === 0 ? {} : { blocks } };
      summaries.set(id, stored);
      sets.push({ key: keys.summary(team, id), value: encodeSums(stored) });
    }
    return { sets, deletes: kept.deletes, summaries };
  }

  /** Returns whether a commit must be split. One run with the longest names always fits. */
  #isTooLarge({ checks, mutations, bytes, keyBytes }: WriteSize): boolean {
    const { bytes: bytesMax, keyBytes: keyBytesMax } = BACK_ENDS.remote;
    return mutations > ROWS_PER_COMMIT_MAX || bytes > bytesMax || keyBytes > keyBytesMax ||
      checks > this.#store.limits.checks;
  }
}

function agentChangeOf({ run: { id }, before, after, remains = null }: RunUpdate) {
  const [old, now] = [agentRunOf(id, before), agentRunOf(id, after ?? remains)];
  return old === null && now === null ? [] : [{ before: old, after: now }];
}

function contributionChangeOf({ before, after, remains }: RunUpdate): ContributionChange {
  const now = after ?? remains ?? null;
  return { before: before?.contribution ?? null, after: now?.contribution ?? null };
}
