/**
 * Commits changes of teams, one of a team at a time.
 *
 * One commit holds changes of many runs and their difference to the team's roll-ups, agents and
 * index, or the rows of a plan. It checks the version of the team's rows, which every such commit
 * changes. So two processes never add one difference twice, and the commit always knows what a run
 * counted for before.
 *
 * @module
 */
import { EventEmitter } from "node:events";
import { createEntryCache } from "../../runtime/memory.ts";
import type { StampSource } from "../../domain/alerts/incident.ts";
import type { ChangeStore } from "../../domain/feed/changes.ts";
import { CHECK_STATUSES } from "../../domain/runs/check_result.ts";
import { KeyedMutex } from "../../runtime/fair_slots.ts";
import { LabeledCounter } from "../../runtime/metrics.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { addCounts } from "../../domain/core/sums.ts";
import { GroupSpends } from "../budgets/group_spend.ts";
import { ConfigCache, type PreparedConfig } from "../config/prepared.ts";
import { BACK_ENDS, type WriteSize } from "../base/limits.ts";
import { groupsOf } from "../base/reads.ts";
import { LOST, untilCommitted, untilCommittedInTime } from "../base/retry.ts";
import { keys, newRowName } from "../base/keys.ts";
import { readHeads, recallHeads, type RunUpdate, type SummarizedHead } from "../runs/heads.ts";
import type { Store } from "../store.ts";
import { type TeamChanges, type TeamPlan, TeamRowCache, type TeamRows } from "../team/team_rows.ts";
import { pendingName, sizeOf } from "../writer/group.ts";
import { buildTeamWrite, type Summaries, type TeamCaches, type TeamWrite } from "./team_write.ts";

/**
 * Maximum rows of one commit: fewer than the store allows, so that queued calls do not wait long.
 */
const ROWS_PER_COMMIT_MAX = 500;

/**
 * Maximum runs of one commit. Each may add a check of its summary to the check of the version; a
 * store with fewer checks has no heads in memory to check.
 */
const RUNS_PER_COMMIT_MAX = 98;

/** Checks of a commit that removes a run: three of its rows, and the version of the team. */
const REMOVAL_CHECKS = { run: 3, team: 1 } as const;

/** Teams whose number of runs that fit is kept. */
const TEAMS_MAX = 1_000;

/** Maximum filed evaluations of rules that a process remembers. */
const FILED_MAX = 10_000;

/** Maximum keys that one commit deletes for others. */
const DELETES_MAX = 100;

const DELETES_SIZE = sizeOf({
  deletes: Array(DELETES_MAX).fill(keys.pending("closed", newRowName())),
});

/**
 * Plans the update of a run; null for no change. It commits nothing.
 *
 * @param config what the team has configured, under the version that the commit checks
 */
export type PlanUpdate = (
  run: SummarizedHead,
  config: PreparedConfig,
) => RunUpdate | null | Promise<RunUpdate | null>;

/** Receives the runs that a commit covered, and the summaries that it stored under a version. */
export type OnCommitted = (
  runs: readonly SummarizedHead[],
  summaries: Summaries,
  version: string,
) => void;

/** Plans updates, and receives what was committed. */
interface UpdateSteps {
  readonly plan: PlanUpdate;
  readonly done: OnCommitted;
  /** Returns at most `max` keys to delete with a commit that has room: they need none of their own. */
  readonly deletes?: (max: number) => readonly Deno.KvKey[];
}

/** Notifies listeners of the changes of a team or of one of its runs. */
export class ChangeNotifier {
  /** Events have the name of a team, or of a team and a run. */
  readonly #events = new EventEmitter().setMaxListeners(0);

  /** Calls back after each commit that changes the team, or this run, until disposed. */
  readonly listen: ChangeStore["listen"] = (team, run, changed) => {
    const name = nameOf(team, run);
    this.#events.on(name, changed);
    return { [Symbol.dispose]: () => void this.#events.off(name, changed) };
  };

  /** Notifies the listeners of a team and of these runs, after the commit is on disk. */
  notify(team: TeamId, runs: readonly RunId[]): void {
    this.#events.emit(nameOf(team, null));
    for (const run of runs) this.#events.emit(nameOf(team, run));
  }
}

function nameOf(team: TeamId, run: RunId | null): string {
  return `${team} ${run ?? ""}`;
}

/** Changes teams. All code that changes runs, monitors and incidents in one process shares it. */
export class TeamCommit implements TeamChanges {
  readonly #caches: TeamCaches;
  readonly #locks = new KeyedMutex();
  /** Notifies those who wait for a change of a team or a run. */
  readonly notifier = new ChangeNotifier();
  /** Spend that budgets judge; each commit publishes what it changes of it. */
  readonly spends: GroupSpends;
  /** Counts the results of checks that were stored. */
  readonly judged = new LabeledCounter(
    "runledger_checks_total",
    "Stored results of checks; a run that is judged again counts again.",
    CHECK_STATUSES.map((status) => ({ status })),
  );
  /** Runs that fitted a team's latest commits, if fewer: a commit must be built to measure it. */
  readonly #runsThatFit = createEntryCache<TeamId, number>(TEAMS_MAX);

  /** @param stamps time and identifiers of incidents; null to change runs without alerts */
  constructor(store: Store, stamps: StampSource | null) {
    this.#caches = {
      store,
      configs: new ConfigCache(store),
      rows: new TeamRowCache(store),
      alerts: stamps && { store, stamps },
      spends: this.spends = new GroupSpends(store.memory),
      filed: createEntryCache(FILED_MAX),
    };
  }

  /** See {@link TeamChanges.commitPlan}. */
  commitPlan<Result>(
    team: TeamId,
    by: "call" | "clock",
    plan: () => Promise<TeamPlan<Result>>,
  ): Promise<Result> {
    const attempt = () => this.#attempt(team, plan);
    const { deadlines } = this.#caches.store;
    const task = "change a team";
    const locked = (work: () => Promise<Result>) => this.#locks.take(team, work);
    return by === "clock"
      ? locked(() => untilCommitted(task, attempt))
      : untilCommittedInTime(task, deadlines, attempt, locked);
  }

  /** Plans and commits once; the version of the team protects what the plan reads. */
  async #attempt<Result>(
    team: TeamId,
    plan: () => Promise<TeamPlan<Result>>,
  ): Promise<Result | typeof LOST> {
    const current = await this.#caches.rows.of(team);
    const { result, rows, tooLarge, onCommitted } = await plan();
    if (rows === null) return result;
    const built = await buildTeamWrite(this.#caches, team, current, rows);
    if (tooLarge !== undefined && isTooLarge(sizeOf(built.write))) return tooLarge;
    const version = await this.#write(team, current, built);
    if (version === null) return LOST;
    onCommitted?.(version);
    return result;
  }

  /** Commits, and keeps the rows as it changed them in memory; null after a conflict. */
  async #write(
    team: TeamId,
    rows: TeamRows,
    { write, committed }: TeamWrite,
    deletes: readonly Deno.KvKey[] = [],
  ): Promise<string | null> {
    const { store, rows: cache } = this.#caches;
    // A commit that throws may be stored: its rows are read again, as after a conflict.
    cache.forget(team);
    const version = await store.writer.commit({
      ...write,
      deletes: [...write.deletes, ...deletes],
    });
    if (version !== null) {
      committed(version);
      cache.keep(team, rows);
    }
    return version;
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
    const read = (ids: readonly RunId[]) => readHeads({ store: this.#caches.store, team }, ids);
    // Also after an error: the commit may have been stored.
    const forget = () =>
      ids.forEach((id) => this.#caches.store.heads.forget(pendingName(team, id)));
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
    const { heads } = this.#caches.store;
    const recall = (ids: readonly RunId[]) =>
      recallHeads({ store: this.#caches.store, team }, ids, oldestMark);
    const onCommitted: OnCommitted = (runs, summaries, version) => {
      for (const run of runs) {
        const summary = summaries.get(run.id);
        const stored = summary === undefined ? null : { summary, version };
        heads.projected(pendingName(team, run.id), run.recent, run.version, stored);
      }
      done(runs, summaries, version);
    };
    return this.#change(team, ids, recall, { ...steps, done: onCommitted });
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
      let rows = await this.#caches.rows.of(team);
      let ahead: Promise<readonly SummarizedHead[]> | null = null;
      let group = ids.slice(0, this.#runsPerCommit(team));
      for (let at = group.length; group.length > 0; at += group.length) {
        const runs = await (ahead ?? read(group));
        const next = ids.slice(at, at + this.#runsPerCommit(team));
        // Reads the next runs while the previous ones are being committed.
        ahead = next.length === 0 ? null : read(next);
        // If this commit throws, the runs read ahead are not awaited.
        ahead?.catch(() => {});
        const isCommitted = await this.#commit(team, rows, runs, steps);
        if (!isCommitted) {
          ahead = null;
          rows = await untilCommitted("change runs", async () => {
            const current = await this.#caches.rows.of(team);
            const runs = await readHeads({ store: this.#caches.store, team }, group);
            return await this.#commit(team, current, runs, steps) ? current : LOST;
          });
        }
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
    const runs = (this.#caches.store.limits.checks - REMOVAL_CHECKS.team) / REMOVAL_CHECKS.run;
    for (const group of groupsOf(ids, Math.floor(runs))) {
      const names = group.map((id) => pendingName(team, id));
      await this.#caches.store.runLocks.takeAll(names, () => this.change(team, group, plan, done));
    }
  }

  /**
   * Commits the updates of runs that were read under a version.
   *
   * @returns false after a conflict
   */
  async #commit(
    team: TeamId,
    rows: TeamRows,
    runs: readonly SummarizedHead[],
    steps: UpdateSteps,
  ): Promise<boolean> {
    const changes: RunUpdate[] = [];
    const config = await this.#caches.configs.of(team, rows);
    // Plans run in sequence, because each may read many events.
    for (const run of runs) {
      const planned = steps.plan(run, config);
      const change = planned instanceof Promise ? await planned : planned;
      if (change !== null) changes.push(change);
    }
    let stored = "";
    let committed: Summaries = new Map();
    if (changes.length > 0) {
      const built = await buildTeamWrite(this.#caches, team, rows, { runs: changes });
      const size = sizeOf(built.write);
      if (changes.length > 1 && this.#isTooLarge(size)) {
        const half = runs.length >> 1;
        this.#runsThatFit.set(team, Math.max(1, half));
        return await this.#commit(team, rows, runs.slice(0, half), steps) &&
          await this.#commit(team, rows, runs.slice(half), steps);
      }
      const fitsDeletes = !this.#isTooLarge(addCounts(size, DELETES_SIZE));
      const deletes = fitsDeletes ? steps.deletes?.(DELETES_MAX) ?? [] : [];
      const version = await this.#write(team, rows, built, deletes);
      if (version === null) return false;
      for (const { status } of changes.flatMap(({ judged }) => judged ?? [])) {
        this.judged.count({ status });
      }
      if (size.mutations * 2 < ROWS_PER_COMMIT_MAX) this.#fitMore(team);
      stored = version;
      this.notifier.notify(team, changes.map(({ run }) => run.id));
      committed = built.summaries;
    }
    steps.done(runs, committed, stored);
    return true;
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

  /** Returns whether a commit must be split. One run with the longest names always fits. */
  #isTooLarge(size: WriteSize): boolean {
    return size.mutations > ROWS_PER_COMMIT_MAX || size.checks > this.#caches.store.limits.checks ||
      isTooLarge(size);
  }
}

/** Returns whether a write may not fit into a commit of any store. */
function isTooLarge({ bytes, keyBytes, mutations }: WriteSize): boolean {
  const max = BACK_ENDS.remote;
  return bytes > max.bytes || keyBytes > max.keyBytes || mutations > max.mutations;
}
