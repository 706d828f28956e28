/**
 * What the results of a run's checks change in its summary.
 *
 * @module
 */
import { type CheckResult, hasFailed } from "./check_result.ts";
import type { RunSummary } from "./summary.ts";
import { RUN_TRAITS } from "./traits.ts";

/** Part of a summary that follows from results. */
export interface Judged {
  /** See `RunSummary.checks`; absent without results. */
  readonly checks?: RunSummary["checks"];
  /** True if the run has the trait `failed_check`. */
  readonly hasFailed: boolean;
}

/** Returns what a summary says of results; null for none. */
export function judgedOf(results: readonly CheckResult[] | null): Judged {
  if (results === null || results.length === 0) return { hasFailed: false };
  const bad = results.filter(({ status }) => status === "fail" || status === "error");
  return { checks: { notPassed: bad.length }, hasFailed: hasFailed(results) };
}

/** Returns what a summary says of the results of its run. */
export function judgedIn({ checks, listed }: RunSummary): Judged {
  return { ...checks && { checks }, hasFailed: listed.has.includes("failed_check") };
}

/** Returns a summary that says of results what they are; the same object if it does. */
export function withJudged(summary: RunSummary, judged: Judged): RunSummary {
  const known = judgedIn(summary);
  const isSame = known.hasFailed === judged.hasFailed &&
    known.checks?.notPassed === judged.checks?.notPassed;
  if (isSame) return summary;
  const { checks: _, ...rest } = summary;
  const has = RUN_TRAITS.filter((trait) =>
    trait === "failed_check" ? judged.hasFailed : summary.listed.has.includes(trait)
  );
  return {
    ...rest,
    listed: { ...summary.listed, has },
    ...judged.checks && { checks: judged.checks },
  };
}
