/**
 * The store of the worker that processes stored runs. It projects runs: each commit holds
 * summaries, their differences to roll-ups, and the stages to run.
 *
 * @module
 */
import {
  PENDING_LANES,
  type ProcessingStore,
  type RunnableStage,
} from "../../domain/runs/processing.ts";
import type { CompiledCheck } from "../../domain/checks/check.ts";
import { idleDeadlineOf } from "../../domain/runs/idle.ts";
import { nextStage, type Stage, stageDueAt, stagesAfterCost } from "../../domain/runs/stages.ts";
import { isCurrent, type RunSummary, summarize } from "../../domain/runs/summary.ts";
import {
  type ExpiryEntry,
  expiryEntryOf,
  isSameExpiryEntry,
} from "../../domain/retention/retention.ts";
import { judgeAtOnce, type Judgement } from "../checks/at_once.ts";
import { BYTES_PER_CHAR, createByteCache } from "../base/byte_cache.ts";
import type { EntryToAdd } from "../base/entries.ts";
import { keyParts, keys } from "../base/keys.ts";
import { dueSet } from "../clock/due_rows.ts";
import { Backoff } from "../base/backoff.ts";
import { isStored, type SummarizedHead } from "../runs/heads.ts";
import { PendingQueue } from "../runs/pending_queue.ts";
import type { RunRows, RunUpdate } from "../runs/run_update.ts";
import { completeStage, costFailed, deadStages, DueStages, revive } from "../runs/stages.ts";
import { isAlive, type Store } from "../store.ts";
import { pendingName } from "../writer/pending_mark.ts";
import type { KvSet } from "../writer/write.ts";
import type { DueDeletes, OnCommitted, PlanUpdate, RunUpdater } from "./run_updater.ts";

/** Part of the roll-ups' memory share for the versions of runs. */
const SEEN_PART = 0.25;

/** Dependencies of the worker's store. */
export interface ProcessingDeps {
  readonly store: Store;
  /** Shared by all code that changes runs in this process. */
  readonly updater: RunUpdater;
  /** The stages after finish that have work to do. */
  readonly stages: readonly RunnableStage[];
  /** Returns unix milliseconds. */
  readonly now: () => number;
}

export function createProcessingStore(
  { store, updater, stages, now }: ProcessingDeps,
): ProcessingStore {
  // The version up to which each run is projected: most marks of a run are read together.
  const projected = createByteCache<string, string>({
    memory: store.memory,
    share: "rollup_teams",
    part: SEEN_PART,
    bytesOf: (version, name) => BYTES_PER_CHAR * (version.length + name.length),
  });
  const isProjected = (name: string, version: string) => version <= (projected.get(name) ?? "");
  const backoff = new Backoff(now);
  const queues = {
    closed: new PendingQueue(store, "closed", backoff, isProjected, true),
    open: new PendingQueue(store, "open", backoff, isProjected, true),
  };
  const marks: DueDeletes = {
    keys: (max) => {
      const closed = queues.closed.finished(max);
      return [...closed, ...queues.open.finished(max - closed.length)];
    },
    deleted: (keys) => {
      for (const lane of PENDING_LANES) {
        queues[lane].noteDeleted(keys.filter((key) => keyParts.lane(key) === lane));
      }
    },
  };
  const due = new DueStages(store, backoff);
  return {
    takePending: (lane, runsMax) => queues[lane].take(runsMax),
    project: (team, ids) => {
      const oldest = [queues.closed.oldest, queues.open.oldest].sort()[0] ?? "";
      const plan: PlanUpdate = (run, { checks }) => planProjection(run, checks, stages, now());
      const done: OnCommitted = (runs) => {
        for (const { id, version } of runs) projected.set(pendingName(team, id), version);
      };
      return updater.project(team, ids, oldest, { plan, done, deletes: marks });
    },
    async projectFailed(run, error) {
      await costFailed(store, run, error, now());
      store.heads.forget(run);
    },
    async dueStages(nowMs, max) {
      const tasks = await due.take(nowMs, max);
      // A run that failed is read again: a head in memory may lack the part that cannot be read.
      for (const task of tasks) if (task.stage?.stage === "cost") store.heads.forget(task);
      return tasks;
    },
    async nextDueMs() {
      const next = [await due.nextDueMs(), backoff.nextMs()].filter((ms) => ms !== null);
      return next.length === 0 ? null : Math.min(...next);
    },
    async completeStage(task, error) {
      await completeStage(store, task, error, now());
      backoff.done(pendingName(task.team, task.run));
      updater.notifier.notify(task.team, [task.run]);
    },
    postponeStage: ({ team, run }) => backoff.add(pendingName(team, run)),
    commitMs: () => store.writer.commitMs,
    isAlive: () => isAlive(store),
    deadStages: () => deadStages(store),
    revive: (run) => revive(store, run, now()),
  };
}

/** Plans the update of a run; null when it is current or not stored. */
export async function planProjection(
  run: SummarizedHead,
  checks: readonly CompiledCheck[],
  stages: readonly RunnableStage[],
  nowMs: number,
): Promise<RunUpdate | null> {
  const { head, ledger, summary: before } = run;
  if (!isStored(head) || isCurrent(before, head)) return null;
  const summarized = summarize(head, before);
  const expiry = expiryEntryOf(head.parts, ledger);
  const isRevised = summarized.revision > (before?.revision ?? 0);
  const finalAt = isRevised ? nowMs : before?.finalAt;
  const isFinal = summarized.seen.closing && finalAt !== undefined;
  const after = { ...summarized, expiry, ...isFinal ? { finalAt } : {} };
  const judging = isFinal ? judgeAtOnce(run, after, checks, nowMs) : NOT_JUDGED;
  const judgement = judging instanceof Promise ? await judging : judging;
  const isBegun = isRevised || isFinal && isJudgedAgain(judgement, before);
  const applying = isFinal && isBegun ? await applyingTo(run, after, stages) : [];
  const rows = isBegun ? stageRows(run, after, judgement, applying, nowMs) : NO_ROWS;
  const due = dueSets(run, after);
  const added = expiryEntries(run, expiry);
  return {
    run,
    before,
    after,
    ...judgedBy(judgement),
    rows: {
      ...rows,
      sets: [...rows.sets, ...due],
      // A head in memory may not know of a summary, which then has another version.
      checks: run.recent === null ? [] : [run.check("summary")],
      added,
    },
  };
}

/** Returns whether a judgement begins the stages of a run again. */
function isJudgedAgain({ kind }: Judgement, before: RunSummary | null): boolean {
  return kind === "judged" || kind === "later" || kind === "none" && before?.checks !== undefined;
}

/** Judgement of an open run. */
const NOT_JUDGED: Judgement = { kind: "none" };

const NO_ROWS: Pick<RunRows, "sets" | "deletes"> = { sets: [], deletes: [] };

/** Returns what a judgement changes. Until a later one, the results of the former revision stay. */
function judgedBy(judgement: Judgement): Pick<RunUpdate, "judged"> {
  if (judgement.kind === "judged") return { judged: judgement.results };
  return judgement.kind === "none" ? { judged: null } : {};
}

/**
 * Returns the row at which a run that has just become open may be idle. Later events move no row:
 * the look finds them.
 */
function dueSets(run: SummarizedHead, after: RunSummary): KvSet[] {
  const { team, id, head, ledger, summary } = run;
  const isOpenRun = ({ seen, listed }: RunSummary) =>
    seen.opening && !seen.closing && listed.kind === "run";
  const at = idleDeadlineOf(head.parts.opening, ledger);
  const wasOpen = summary !== null && isOpenRun(summary) && !wasClosed(run);
  const isDue = at !== null && isOpenRun(after) && !wasOpen;
  return isDue ? [dueSet({ at, kind: "idle", team, name: id })] : [];
}

/** Returns whether an idle close, which consumed the row, was reopened before it was summarized. */
function wasClosed({ idle, ledger, summary }: SummarizedHead): boolean {
  return idle !== null && ledger.batches > idle.seen && (summary?.seen.batches ?? 0) <= idle.seen;
}

/**
 * Returns the new entry of a run in an expiry order. The previous one stays until it is due. A later
 * entry has a row of its own, as those of the sweep: it may be the same entry.
 */
function expiryEntries(
  { team, id, summary: before }: SummarizedHead,
  entry: ExpiryEntry,
): EntryToAdd[] {
  if (isSameExpiryEntry(before?.expiry ?? null, entry)) return [];
  const order = keys.expiryOrder(team, entry.retentionClass);
  return [{ order, at: entry.since, run: id, value: true, mayShare: before === null }];
}

/** Returns the stages that have work to do for a closed run. */
async function applyingTo(
  { team }: SummarizedHead,
  after: RunSummary,
  stages: readonly RunnableStage[],
): Promise<readonly RunnableStage[]> {
  const applies = await Promise.all(stages.map((stage) => stage.applies(team, after)));
  return stages.filter((_, i) => applies[i]);
}

/**
 * Returns the rows that start the stages of a run over.
 *
 * @param applying stages with work to do; none for a run that was reopened. `checks` follows from the
 * judgement too
 */
function stageRows(
  { team, id, summary: before, check }: SummarizedHead,
  after: RunSummary,
  { kind }: Judgement,
  applying: readonly RunnableStage[],
  nowMs: number,
): Pick<RunRows, "sets" | "deletes"> {
  const key = keys.processing(team, id);
  const isAgain = (before?.revision ?? 0) > 0;
  // None of them is dead any longer.
  const revived = isAgain ? [keys.deadStage(team, id)] : [];
  if (applying.length === 0 && kind !== "later") {
    // The stages follow from the summary. A head in memory does not tell whether they have a row.
    const mayHaveRow = isAgain || check("processing").versionstamp !== null;
    return { sets: [], deletes: mayHaveRow ? [...revived, key] : revived };
  }
  const names = new Set<Stage>(applying.map(({ name }) => name));
  if (kind === "later") names.add("checks");
  const done = new Set<Stage>(kind === "judged" ? ["cost", "checks"] : ["cost"]);
  const begun = stagesAfterCost(after.revision, names, nowMs, done);
  // The cost may be older than what begins the stages after it.
  const stages = begun.stages.map((each) =>
    each.stage === "cost" ? { ...each, at: after.finalAt ?? nowMs } : each
  );
  const processing = { ...begun, stages };
  const sets: KvSet[] = [{ key, value: processing }];
  const next = nextStage(processing);
  if (next !== null) sets.push({ key: keys.dueStage(stageDueAt(next), team, id), value: true });
  return { sets, deletes: revived };
}
