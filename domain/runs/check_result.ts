/**
 * Results of checks (decisions 62 and 63).
 *
 * @module
 */

/**
 * What a failure means: `info` is shown, `warn` may open an incident, `fail` also makes the run one
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
  /** What is wrong; null for a `pass`, or once the payload is removed. */
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
