/**
 * Results of checks (decisions 62 and 63).
 *
 * @module
 */
import type { RunSummary } from "./summary.ts";
import { RUN_TRAITS } from "./cost.ts";

/**
 * The weight of a failure: `info` is shown, `warn` may open an incident, `fail` also makes the run one
 * with a failed check. The order is from the least to the most severe.
 */
export const CHECK_SEVERITIES = ["info", "warn", "fail"] as const;

/** One of {@link CHECK_SEVERITIES}. */
export type CheckSeverity = typeof CHECK_SEVERITIES[number];

/**
 * Outcomes of a check: `error` if it could not be decided, which is never a `pass`; `skipped` if the
 * run lacks what the expression names.
 */
export const CHECK_STATUSES = ["pass", "fail", "error", "skipped"] as const;

/** One of {@link CHECK_STATUSES}. */
export type CheckStatus = typeof CHECK_STATUSES[number];

/** Result of one check for one run. */
export interface CheckResult {
  /** Slug of the check. */
  readonly check: string;
  /** Identifier of the check; one that was deleted and created again has another. */
  readonly id: string;
  /** Version of the check. */
  readonly version: number;
  /** Severity of that version. */
  readonly severity: CheckSeverity;
  /** Outcome. */
  readonly status: CheckStatus;
  /**
   * Values of the names that the expression used, such as `cost_usd = 0.61`, at most 200 characters;
   * null if it was skipped, or once the payload is removed.
   */
  readonly got: string | null;
  /** The reason of the result; null for a `pass`, or once the payload is removed. */
  readonly message: string | null;
  /** Why it is `skipped` (`no_output`, `payload_removed`) or an `error`; absent for others. */
  readonly reason?: string;
  /** Time of the judgement, unix milliseconds. */
  readonly at: number;
  /** Revision of the run's cost that was judged. */
  readonly revision: number;
}

/** Maximum characters of `got`, and of `message`. */
export const GOT_CHARS_MAX = 200;

/** Results of a run before and after a change, by slug; null for none. */
export interface ResultsChange {
  /** Results so far. */
  readonly before: readonly CheckResult[] | null;
  /** Results from now on. */
  readonly after: readonly CheckResult[] | null;
}

/** Returns results as they stay once the payload is removed. */
export function withoutTexts(results: readonly CheckResult[]): readonly CheckResult[] {
  return results.map((result) => ({ ...result, got: null, message: null }));
}

/** Returns whether a run with these results failed a check (decision 61). */
export function hasFailed(results: readonly CheckResult[]): boolean {
  return results.some(({ status, severity }) => status === "fail" && severity === "fail");
}

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
