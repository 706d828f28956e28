/**
 * Judges runs whose facts must be read, or whose checks take long, after their cost.
 *
 * @module
 */
import type { CompiledCheck } from "../../domain/checks/check.ts";
import { checksOf, judge, neededFacts } from "../../domain/checks/judge.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { CheckResult } from "../../domain/runs/check_result.ts";
import type { Work } from "../../domain/work/work.ts";
import { isCurrent } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { workKey } from "../work/work_rows.ts";
import type { SummarizedHead } from "../runs/heads.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import { closedRunOf, readFacts, type RunToJudge } from "./facts.ts";
import { placeInSample } from "./sample.ts";

/** Configuration of a team, as far as judging needs it. */
interface TeamChecks {
  /** Enabled checks, by slug. */
  readonly checks: readonly CompiledCheck[];
}

/** Changes runs; see `TeamCommit`. */
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

/** Dependencies of judging. */
export interface JudgeDeps {
  readonly changes: RunChanges;
  /** Returns unix milliseconds. */
  readonly now: () => number;
}

/** Judges a run that is due; it may be called again for the same run. */
export type JudgeLater = (row: Work) => Promise<void>;

/** Creates the function that judges a run which awaits it: a projection judges the others. */
export function createJudgeLater(deps: JudgeDeps): JudgeLater {
  return (row) => untilCommitted("judge a run", () => judgeRun(deps, row));
}

/** A run, and the checks that judge it. */
interface Judging {
  readonly run: RunToJudge;
  readonly checks: readonly CompiledCheck[];
}

/** Judges a run as it is now; `LOST` if it changed meanwhile. */
async function judgeRun(deps: JudgeDeps, row: Work): Promise<void | typeof LOST> {
  const judging = await readJudging(deps, row);
  if (judging === null) return;
  const results = judging.checks.length === 0 ? null : await resultsOf(deps, judging);
  let isSame = true;
  const [team, id] = [row.team, row.name as RunId];
  await deps.changes.change(team, [id], (run) => {
    // Each other change of a run, also of its payload, stores its summary again.
    isSame = isJudgeable(run) && versionOf(run) === versionOf(judging.run);
    if (!isSame || run.summary === null) return null;
    const { awaitsChecks: _, ...after } = run.summary;
    const rows = { sets: [], deletes: [workKey(row), keys.runFailure(team, id)] };
    return { run, before: run.summary, after, judged: results, rows };
  });
  if (!isSame) return LOST;
}

/**
 * Reads a run and its checks in turn with its changes, so that they belong together; null if there is
 * nothing to judge: then the next projection decides again.
 */
async function readJudging(
  { changes }: JudgeDeps,
  { team, name }: Work,
): Promise<Judging | null> {
  let judging: Judging | null = null;
  await changes.change(team, [name as RunId], (run, { checks }) => {
    judging = isJudgeable(run) ? { run, checks: checksOf(run, checks, placeInSample) } : null;
    return null;
  });
  return judging;
}

function versionOf(run: SummarizedHead): string | null {
  return run.check("summary").versionstamp;
}

/**
 * Returns whether a run awaits its checks, and its summary includes all its parts. Otherwise its
 * projection is pending, or fails.
 */
function isJudgeable(run: SummarizedHead): run is RunToJudge {
  return run.summary?.awaitsChecks === true && isCurrent(run.summary, run.head);
}

/** Judges a run by each of its checks. After each, other work gets at least the time that it took. */
async function resultsOf(
  { now }: JudgeDeps,
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
