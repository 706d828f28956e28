/** Links from the facts of a run to the steps that stand out. */
import { positionBefore, timelinePath } from "./paths.ts";
import type { Span } from "./run_load.ts";
import { isMarked, type ViewProps } from "./run_view.ts";

/** Returns the attributes of the link to a marked step: the script selects one on this page in place. */
export function markLink({ data: { run, view }, trace }: ViewProps, mark: Span) {
  const step = trace.rows.find((row) => isMarked(row.step, mark))?.step;
  const event = mark.id;
  if (step === undefined) {
    const list = mark.run === run.id ? view.list : null;
    return { href: timelinePath(mark.run, { after: positionBefore(mark.position), event, list }) };
  }
  const inRun = mark.run === run.id ? null : mark.run;
  return { href: `${trace.pathWith({ event, inRun })}#${step.id}`, "data-select": "" };
}
