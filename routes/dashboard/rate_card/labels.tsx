/** What jobs that price calls anew are shown by. */
import type { RepriceSum } from "../../../domain/repricing/reprice.ts";
import type { RepriceJob, RepriceState } from "../../../domain/repricing/job.ts";
import { Money } from "../components/elements.tsx";
import { typedInstant } from "./rate_form_values.ts";

/** How a job stands. */
export const JOB_STATE_LABELS: Readonly<Record<RepriceState, string>> = {
  waiting: "waits for calls just stored to be summed up",
  running: "under way",
  done: "done",
};

/** A difference with its sign. */
export function CostDifference({ of: { before, after } }: { readonly of: RepriceSum }) {
  const by = after - before;
  return (
    <>
      {by > 0n ? "+" : ""}
      <Money of={by} />
    </>
  );
}

/** The runs that a job visits. */
export function periodText({ spec: { from, to } }: RepriceJob): string {
  if (from === null && to === null) return "all";
  const since = from === null ? "" : `from ${typedInstant(from)}`;
  const until = to === null ? "" : `before ${typedInstant(to)}`;
  return [since, until].filter((text) => text !== "").join(" ");
}
