/** Runs by status, for charts. The name of a status is also the class of its colour. */
import type { RunStatus } from "../../../domain/runs/run.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { formatCount } from "./format.ts";

/** Labels for runs of a status. */
export const STATUS_LABELS: Readonly<Record<RunStatus, string>> = {
  failed: "failed",
  timeout: "timed out",
  cancelled: "cancelled",
  running: "running",
  success: "succeeded",
};

/** Returns the runs of each status, in the order that charts stack them from the bottom up. */
export function byStatus(measures: Measures): readonly (readonly [RunStatus, number])[] {
  const { runs, succeeded, failed, timedOut, running } = measures;
  return [
    ["failed", failed],
    ["timeout", timedOut],
    ["cancelled", runs - succeeded - failed - timedOut - running],
    ["running", running],
    ["success", succeeded],
  ];
}

/** Lists the statuses that occur with their counts: `3 succeeded, 1 running`. */
export function statusText(measures: Measures): string {
  return byStatus(measures).toReversed().filter(([, count]) => count > 0)
    .map(([status, count]) => `${formatCount(count)} ${STATUS_LABELS[status]}`).join(", ");
}
