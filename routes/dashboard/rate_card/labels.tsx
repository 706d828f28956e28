/** Labels for repricing jobs. */
import type { RepriceSum } from "../../../domain/repricing/reprice.ts";
import type { JobState } from "../../../domain/core/jobs.ts";
import type { RepriceJob } from "../../../domain/repricing/job.ts";
import { Money } from "../components/elements.tsx";
import { typedInstant } from "./rate_form_values.ts";

/** Labels for job states. */
export const JOB_STATE_LABELS: Readonly<Record<JobState, string>> = {
  waiting: "waits for recent calls to be aggregated",
  running: "under way",
  done: "done",
};

/** Shows a difference with its sign. */
export function CostDifference({ of: { before, after } }: { readonly of: RepriceSum }) {
  const by = after - before;
  return (
    <>
      {by > 0n ? "+" : ""}
      <Money of={by} />
    </>
  );
}

/** Describes which runs a job visits. */
export function periodText({ spec: { from, to } }: RepriceJob): string {
  if (from === null && to === null) return "all";
  const since = from === null ? "" : `from ${typedInstant(from)}`;
  const until = to === null ? "" : `before ${typedInstant(to)}`;
  return [since, until].filter((text) => text !== "").join(" ");
}
