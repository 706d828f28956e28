/**
 * Counts stored results of checks.
 *
 * @module
 */
import type { MetricFamily } from "./metric_text.ts";
import { CHECK_STATUSES, type CheckResult } from "../domain/runs/check_result.ts";

/** Counts of one process. */
export class CheckMetrics {
  readonly #counts = new Map<CheckResult["status"], number>();

  /** Counts the results that a commit stored for a run. */
  count(results: readonly CheckResult[]): void {
    for (const { status } of results) {
      this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
    }
  }

  /** Returns the family of the counts. */
  family(): MetricFamily {
    return {
      type: "counter",
      name: "runledger_checks_total",
      help: "Stored results of checks; a run that is judged again counts again.",
      samples: CHECK_STATUSES.map((status) => ({
        labels: { status },
        value: this.#counts.get(status) ?? 0,
      })),
    };
  }
}
