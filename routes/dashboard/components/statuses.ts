/** Runs by status, as charts show them. The name of a status is the class of its colour. */
import type { RunStatus } from "../../../domain/runs/run.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { formatCount } from "./format.ts";

/** Words for runs of a status. */
export const STATUS_LABELS: Readonly<Record<RunStatus, string>> = {
  failed: "failed",
  timeout: "timed out",
  cancelled: "cancelled",
  running: "running",
  success: "succeeded",
};

/** The runs of sums by status, in the order that charts stack them from the bottom up. */
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

/** The statuses that occur, with how often: `3 succeeded, 1 running`. */
export function statusText(measures: Measures): string {
  return byStatus(measures).toReversed().filter(([, count]) => count > 0)
    .map(([status, count]) => `${formatCount(count)} ${STATUS_LABELS[status]}`).join(", ");
}
