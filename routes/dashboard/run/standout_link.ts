/** Links from the facts of a run to the steps that stand out. */
import { type MarkName, ROWS_PER_PAGE, tracePath } from "./paths.ts";
import { isStandout } from "./standouts.ts";
import type { TraceProps } from "./trace.ts";

/** A link to a step that stands out. */
export interface StandoutLink {
  readonly href: string;
  /** True if the step is on the page, so that the script selects it there. */
  readonly isHere: boolean;
}

/** Returns the link to a step that stands out, on whichever page it is. */
export function standoutLink(
  { run, view, after, page, trace }: TraceProps,
  mark: MarkName,
): StandoutLink | null {
  const standout = trace.marks[mark];
  if (standout === null) return null;
  const at = trace.rows.findIndex(({ step }) => isStandout(step, standout));
  const step = trace.rows[at]?.step;
  if (step === undefined) {
    const list = standout.run === run.id ? view.list : null;
    return { href: `${tracePath(standout.run, { mark, list })}#timeline`, isHere: false };
  }
  const isPart = page.next === null && after === null;
  const skip = isPart ? Math.floor(at / ROWS_PER_PAGE) * ROWS_PER_PAGE : 0;
  const isHere = skip === view.skip;
  const inRun = standout.run === run.id ? null : standout.run;
  const event = step.preview?.event.id ?? null;
  return {
    href: `${tracePath(run.id, { ...view, after, skip, event, inRun })}#${step.id}`,
    isHere,
  };
}
