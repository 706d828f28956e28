/** Links from the facts of a run to the steps that stand out. */
import { positionBefore, timelinePath, tracePath } from "./paths.ts";
import type { Span } from "./run_load.ts";
import { isMarked, type TraceProps } from "./run_view.ts";

/** Returns the link to a marked step, and whether the script can select it on this page. */
export function markLink({ run, view, after, trace }: TraceProps, mark: Span) {
  const step = trace.rows.find((row) => isMarked(row.step, mark))?.step;
  if (step === undefined) {
    const list = mark.run === run.id ? view.list : null;
    const place = { after: positionBefore(mark.position), event: mark.id, list };
    return { href: timelinePath(mark.run, place), isHere: false };
  }
  const inRun = mark.run === run.id ? null : mark.run;
  const place = { ...view, after, event: mark.id, inRun };
  return { href: `${tracePath(run.id, place)}#${step.id}`, isHere: true };
}
