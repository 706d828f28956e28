/** The slowest step and the most expensive call of a trace, also of the pages that are not shown. */
import type { RunId } from "../../../domain/core/ids.ts";
import {
  comparePositions,
  type EventPosition,
  type RunPage,
} from "../../../domain/runs/event_page.ts";
import { isStated } from "../../../domain/runs/run.ts";
import type { CostliestCall, SlowestEvent } from "../../../domain/runs/standouts.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { positionBefore, type TraceView } from "./paths.ts";
import type { Step } from "./steps.ts";

/** What stands out in one run, with the numbers of its steps and of its model calls. */
export interface RunStandouts {
  readonly run: RunId;
  readonly slowest: SlowestEvent | null;
  readonly costliest: CostliestCall | null;
  readonly events: number;
  readonly calls: number;
}

/** What stands out in a trace: each with its run; null for none, and where nothing is compared. */
export interface Standouts {
  readonly slowest: (SlowestEvent & { readonly run: RunId }) | null;
  readonly costliest: (CostliestCall & { readonly run: RunId }) | null;
}

/** Returns what stands out in a run. Calls that a stated cost covers cost nothing. */
export function standoutsIn(run: RunId, page: RunPage): RunStandouts {
  const { slowest, totals: { events, llmCalls } } = page;
  const costliest = isStated(page.parts) ? null : page.costliest;
  return { run, slowest, costliest, events, calls: llmCalls };
}

/** Returns what stands out among the steps of several runs; one step alone does not. */
export function standoutsOf(runs: readonly RunStandouts[]): Standouts {
  let [slowest, costliest]: [Standouts["slowest"], Standouts["costliest"]] = [null, null];
  let [events, calls] = [0, 0];
  for (const each of runs) {
    const { run } = each;
    events += each.events;
    calls += each.calls;
    if (each.slowest && each.slowest.durationMs > (slowest?.durationMs ?? 0)) {
      slowest = { ...each.slowest, run };
    }
    if (each.costliest && each.costliest.cost > (costliest?.cost ?? 0n)) {
      costliest = { ...each.costliest, run };
    }
  }
  return { slowest: events > 1 ? slowest : null, costliest: calls > 1 ? costliest : null };
}

/** Returns whether a step is the one that stands out. */
export function isStandout(
  { run, preview }: Step,
  standout: (EventPosition & { readonly run: RunId }) | null,
): boolean {
  return standout !== null && preview !== null && run === standout.run &&
    comparePositions(preview.event.position, standout) === 0;
}

/** Returns a view whose page begins with the step that a link names by its mark. */
export async function resolveMark(
  { runs }: Pick<AppDeps, "runs">,
  team: Team,
  id: RunId,
  view: TraceView,
): Promise<TraceView> {
  if (view.mark === null) return view;
  const head = await runs.read(team, id, null, 0);
  const standout = head?.[view.mark] ?? null;
  if (standout === null) return { ...view, mark: null };
  const after = positionBefore(standout);
  const [event] = (await runs.read(team, id, after, 1))?.events ?? [];
  return { ...view, mark: null, after, event: event?.id ?? null };
}
