/**
 * The stage `checks`: judges runs whose facts must be read, or whose checks take long.
 *
 * @module
 */
import type { CompiledCheck } from "../../domain/checks/check.ts";
import { checksOf, judge, neededFacts } from "../../domain/checks/judge.ts";
import { FairSlots } from "../../domain/core/fair_slots.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { CheckResult } from "../../domain/runs/check_result.ts";
import type { PendingRun, RunnableStage } from "../../domain/runs/processing.ts";
import { isCostCurrent } from "../../domain/runs/summary.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import type { SummarizedHead } from "../runs/heads.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import { closedRunOf, readFacts, type RunToJudge } from "./facts.ts";
import { placeInSample } from "./sample.ts";

/** What a team has configured, as far as the stage needs it. */
interface TeamChecks {
  /** Enabled checks, by slug. */
  readonly checks: readonly CompiledCheck[];
}

/** Changes runs; see `RunUpdater`. */
export interface RunChanges {
  /**
   * Changes runs as planned.
   *
   * @param plan called again after a conflict with another process; null for no change
   */
  change(
    team: TeamId,
    ids: readonly RunId[],
    plan: (run: SummarizedHead, config: TeamChecks) => RunUpdate | null,
  ): Promise<void>;
}

/** Dependencies of the stage. */
export interface CheckStageDeps {
  readonly changes: RunChanges;
  /** Returns unix milliseconds. */
  readonly now: () => number;
}

/** Runs that are judged at once: each may hold {@link EVENT_BYTES_MAX} of events in memory. */
const SLOTS = { all: 4, team: 2, waiting: 1_000, teamWaiting: 1_000 } as const;

/** Creates the stage. A projection begins it, unless it has judged the run itself. */
export function createCheckStage(deps: CheckStageDeps): RunnableStage {
  const slots = new FairSlots(SLOTS);
  const never = new AbortController().signal;
  return {
    name: "checks",
    applies: () => false,
    async run(pending) {
      const release = await slots.take(pending.team, never);
      try {
        await untilCommitted("judge a run", () => judgeRun(deps, pending));
      } finally {
        release();
      }
    },
  };
}

/** A run, and the checks that judge it. */
interface Judging {
  readonly run: RunToJudge;
  readonly checks: readonly CompiledCheck[];
}

/** Judges a run as it is now; `LOST` if it changed meanwhile. */
async function judgeRun(deps: CheckStageDeps, pending: PendingRun): Promise<void | typeof LOST> {
  const judging = await readJudging(deps, pending);
  if (judging === null) return;
  const results = judging.checks.length === 0 ? null : await resultsOf(deps, judging);
  let isSame = true;
  await deps.changes.change(pending.team, [pending.run], (run) => {
    const { summary } = run;
    // Each other change of a run, also of its payload, stores its summary again.
    isSame = isJudgeable(run) && versionOf(run) === versionOf(judging.run);
    if (!isSame || results === null && summary?.checks === undefined) return null;
    const rows = { sets: [], deletes: [] };
    return { run, before: summary, after: summary, judged: results, rows };
  });
  if (!isSame) return LOST;
}

/**
 * Reads a run and its checks in turn with its changes, so that they belong together; null if there is
 * nothing to judge. The next projection begins the stage again then.
 */
async function readJudging(
  { changes }: CheckStageDeps,
  { team, run: id }: PendingRun,
): Promise<Judging | null> {
  let judging: Judging | null = null;
  await changes.change(team, [id], (run, { checks }) => {
    judging = isJudgeable(run) ? { run, checks: checksOf(run, checks, placeInSample) } : null;
    return null;
  });
  return judging;
}

function versionOf(run: SummarizedHead): string | null {
  return run.check("summary").versionstamp;
}

/** Returns whether a run is closed, and its summary has the cost of all its parts. */
function isJudgeable(run: SummarizedHead): run is RunToJudge {
  return run.summary !== null && run.summary.seen.closing && isCostCurrent(run.summary, run.head);
}

/** Judges a run by each of its checks. After each, other work gets at least the time that it took. */
async function resultsOf(
  { now }: CheckStageDeps,
  { run, checks }: Judging,
): Promise<readonly CheckResult[]> {
  const closed = closedRunOf(run);
  const { facts, missing } = await readFacts(run, neededFacts(closed, checks));
  const results: CheckResult[] = [];
  for (const check of checks) {
    const startMs = performance.now();
    results.push(judge(closed, check, facts, missing, now()));
    const tookMs = performance.now() - startMs;
    await new Promise((resolve) => setTimeout(resolve, tookMs));
  }
  return results;
}
