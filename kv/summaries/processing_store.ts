/**
 * The store of the worker that processes stored runs. It projects runs: each commit holds
 * summaries, their differences to roll-ups, and the due rows of runs that are judged later.
 *
 * @module
 */
import type { PendingLane, PendingRun } from "../../domain/runs/stages.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { idleDeadlineOf } from "../../domain/runs/idle.ts";
import { isCurrent, type RunSummary, summarize } from "../../domain/runs/summary.ts";
import {
  type ExpiryEntry,
  expiryEntryOf,
  isSameExpiryEntry,
} from "../../domain/retention/retention.ts";
import type { PreparedConfig } from "../config/prepared.ts";
import { type Judge, judgesOf, namesScores } from "../../domain/judges/judge.ts";
import { judgeInCommit, type Judgement, placeInSample } from "../checks/check_runs.ts";
import { judgeWork } from "../judges/judge_rows.ts";
import { BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import type { EntryToAdd } from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import { workSet } from "../work/store.ts";
import { Backoff } from "../../runtime/loop.ts";
import { costFailed, runWorkRow } from "../runs/run_work.ts";
import { countOnce } from "../runs/twins.ts";
import { isStored, mayHaveTwins, type RunUpdate, type SummarizedHead } from "../runs/heads.ts";
import { PendingQueue } from "../runs/pending_queue.ts";
import { isAlive, type Store } from "../store.ts";
import { type KvSet, pendingName } from "../writer/group.ts";
import type { OnCommitted, PlanUpdate, TeamCommit } from "./team_commit.ts";

/** Dependencies of the worker's store. */
export interface ProcessingDeps {
  readonly store: Store;
  /** Shared by all code that changes runs in this process. */
  readonly updater: TeamCommit;
  /** Returns unix milliseconds. */
  readonly now: () => number;
}

/** The store as used by the worker. */
export type ProcessingStore = ReturnType<typeof createProcessingStore>;

export function createProcessingStore(
  { store, updater, now }: ProcessingDeps,
) {
  // The version up to which each run is projected: most marks of a run are read together.
  const projected = createByteCache<string, string>({
    memory: store.memory,
    share: "projected",
    bytesOf: (version, name) => BYTES_PER_CHAR * (version.length + name.length),
  });
  const isProjected = (name: string, version: string) => version <= (projected.get(name) ?? "");
  const backoff = new Backoff(now);
  const queues = {
    closed: new PendingQueue(store, "closed", backoff, isProjected),
    open: new PendingQueue(store, "open", backoff, isProjected),
  };
  const deletes = (max: number) => {
    const closed = queues.closed.takeFinished(max);
    return [...closed, ...queues.open.takeFinished(max - closed.length)];
  };
  return {
    /** Takes at most `runsMax` pending runs of a lane, fairly distributed over teams. */
    takePending: (lane: PendingLane, runsMax: number) => queues[lane].take(runsMax),
    /**
     * Updates the summaries of a team's runs, and the team's roll-ups by the difference. The call is
     * idempotent.
     */
    project: (team: TeamId, ids: readonly RunId[]) => {
      const oldest = [queues.closed.oldest, queues.open.oldest].sort()[0] ?? "";
      const plan: PlanUpdate = (run, config) => planProjection(run, config, now());
      const done: OnCommitted = (runs) => {
        for (const { id, version, recent } of runs) {
          // A run of one call has no other mark.
          if (recent?.commits !== 1) projected.set(pendingName(team, id), version);
        }
      };
      return updater.project(team, ids, oldest, { plan, done, deletes });
    },
    /** Records that a run's cost could not be computed; it is retried later, or given up. */
    projectFailed: (run: PendingRun, error: unknown) => costFailed(store, run, error, now()),
    /** Returns when runs that cannot be projected are tried again; null if there are none. */
    nextTryMs: () => backoff.nextMs(),
    /** Returns the usual milliseconds of a commit. */
    commitMs: () => store.writer.commitMs,
    /** Returns whether the store can read and write; if so, a failure was caused by the run. */
    isAlive: () => isAlive(store),
  };
}

/** Plans the update of a run; null when it is current or not stored. */
export async function planProjection(
  stored: SummarizedHead,
  { checks, judges }: Pick<PreparedConfig, "checks" | "judges">,
  nowMs: number,
): Promise<RunUpdate | null> {
  if (!isStored(stored.head) || isCurrent(stored.summary, stored.head)) return null;
  const counted = mayHaveTwins(stored.ledger) ? await countOnce(stored) : null;
  const run = counted?.run ?? stored;
  const { team, id, head, ledger, summary: before } = run;
  const summarized = summarize(head, before);
  const expiry = expiryEntryOf(head.parts, ledger);
  const finalAt = summarized.revision > (before?.revision ?? 0) ? nowMs : before?.finalAt;
  const isFinal = summarized.seen.closing && finalAt !== undefined;
  const final = { ...summarized, expiry, ...isFinal ? { finalAt } : {} };
  const isChecked = isFinal && checks.length > 0;
  const checking = isChecked ? judgeInCommit(run, final, checks, nowMs) : NOT_JUDGED;
  const judgement = checking instanceof Promise ? await checking : checking;
  const awaitsChecks = judgement.kind === "later" ||
    judgement.kind === "kept" && before?.awaitsChecks === true;
  const isSent = isFinal && judges.length > 0;
  const judging = isSent ? planJudging(run, final, judges, nowMs) : null;
  const slugs = judging?.slugs ?? before?.judges;
  const after: RunSummary = {
    ...final,
    ...awaitsChecks ? { awaitsChecks } : {},
    ...slugs === undefined ? {} : { judges: slugs },
  };
  // A head in memory does not tell whether the run has failed before; a failed one is read.
  const mayHaveFailed = run.recent === null || (before?.revision ?? 0) > 0;
  return {
    run,
    before,
    after,
    ...judgedBy(judgement),
    rows: {
      sets: [
        ...counted?.sets ?? [],
        ...awaitsChecks ? [runWorkRow({ team, run: id }, nowMs)] : [],
        ...dueSets(run, after),
        ...judging?.sets ?? [],
      ],
      deletes: mayHaveFailed ? [keys.runFailure(team, id)] : [],
      // A head in memory may not know of a summary, which then has another version.
      checks: [
        ...run.recent === null ? [] : [run.check("summary")],
        ...counted === null ? [] : [run.check("ledger")],
      ],
      added: expiryEntries(run, expiry),
    },
  };
}

/**
 * Files the judges that apply to a closed run, unless only scores were added that they do not send.
 *
 * @returns null if none applies
 */
function planJudging(
  { team, id, summary: before }: SummarizedHead,
  after: RunSummary,
  judges: readonly Judge[],
  nowMs: number,
): { readonly slugs: readonly string[]; readonly sets: readonly KvSet[] } | null {
  const applying = judgesOf({ id, summary: after }, judges, placeInSample);
  if (applying.length === 0) return null;
  const isRevised = after.revision > (before?.revision ?? 0);
  const due = applying.filter(({ judge }) => isRevised || namesScores(judge));
  const slugs = new Set([...before?.judges ?? [], ...due.map(({ judge }) => judge.slug)]);
  return {
    slugs: [...slugs].sort(),
    sets: due.map(({ judge: { slug }, at }) =>
      judgeWork(team, { run: id, slug, trial: null }, Math.max(at, nowMs))
    ),
  };
}

/** Judgement of an open run, or without a check. */
const NOT_JUDGED: Judgement = { kind: "none" };

/** Returns what a judgement changes. Until a later one, the results of the former revision stay. */
function judgedBy(judgement: Judgement): Pick<RunUpdate, "judged"> {
  if (judgement.kind === "judged") return { judged: judgement.results };
  return judgement.kind === "none" ? { judged: null } : {};
}

/**
 * Returns the row at which a run that has just become open may be idle. Later events move no row:
 * the next turn finds them.
 */
function dueSets(run: SummarizedHead, after: RunSummary): KvSet[] {
  const { team, id, head, ledger, summary } = run;
  const isOpenRun = ({ seen, listed }: RunSummary) =>
    (seen.opening || seen.isOpenTrace === true) && !seen.closing && listed.kind === "run";
  if (!isOpenRun(after)) return [];
  const wasOpen = summary !== null && isOpenRun(summary) && !wasClosed(run);
  const at = wasOpen ? null : idleDeadlineOf(head.parts.opening, ledger);
  return at === null ? [] : [workSet({ at, kind: "idle", team, name: id })];
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
