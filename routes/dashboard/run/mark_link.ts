/** Links from the facts of a run to the steps that stand out. */
import { positionBefore, ROWS_PER_PAGE, tracePath } from "./paths.ts";
import type { Span } from "./run_load.ts";
import { isMarked, type TraceProps } from "./run_view.ts";

/** Returns the link to a marked step, and whether the script can select it on this page. */
export function markLink({ run, view, after, page, trace }: TraceProps, mark: Span) {
  const at = trace.rows.findIndex(({ step }) => isMarked(step, mark));
  const step = trace.rows[at]?.step;
  if (step === undefined) {
    const list = mark.run === run.id ? view.list : null;
    const place = { after: positionBefore(mark.position), event: mark.id, list };
    return { href: `${tracePath(mark.run, place)}#timeline`, isHere: false };
  }
  const isPart = page.next === null && after === null;
  const skip = isPart ? Math.floor(at / ROWS_PER_PAGE) * ROWS_PER_PAGE : 0;
  const inRun = mark.run === run.id ? null : mark.run;
  const place = { ...view, after, skip, event: mark.id, inRun };
  return { href: `${tracePath(run.id, place)}#${step.id}`, isHere: skip === view.skip };
}
