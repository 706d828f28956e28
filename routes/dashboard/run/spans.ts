/** The span of each event of a trace, from which its minimap is drawn and its marks follow. */
import type { RunId } from "../../../domain/core/ids.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import type { Step } from "./steps.ts";

/** Maximum events of a trace with a map and marks: a page that reloads reads fewer. */
export const SPANS_MAX = { usual: 5_000, live: 1_000 } as const;

/** Events of a read, and reads beyond those of full pages, for events above 2 KB. */
const EVENTS_PER_READ = 500, MORE_READS = 4;

/** A run whose steps are shown. */
export interface ShownRun {
  readonly id: RunId;
  /** Number of its events. */
  readonly count: number;
  /** All of its events; null if they are not read yet. */
  readonly events: readonly PositionedEvent[] | null;
  /** True if its heartbeats say what it costs, so that its calls cost nothing. */
  readonly isCovered: boolean;
}

/** Time, kind and cost of an event. */
export type Span = ReturnType<typeof spanOf>;

/** Reads the spans of the runs that are shown with their steps; null if they are too many. */
export async function readSpans(
  { runs }: AppDeps,
  team: Team,
  shown: readonly ShownRun[],
  max: number,
): Promise<readonly Span[] | null> {
  if (shown.reduce((sum, { count }) => sum + count, 0) > max) return null;
  const spans: Span[] = [];
  let reads = max / EVENTS_PER_READ + MORE_READS;
  for (const run of shown) {
    let { events } = run;
    let after: PositionedEvent["position"] | null = null;
    do {
      if (events === null || after !== null) {
        if (reads-- <= 0) return null;
        const page = await runs.read(team, run.id, after, EVENTS_PER_READ);
        events = page?.events ?? [];
        after = page?.next ?? null;
      }
      for (const event of events) spans.push(spanOf(run, event));
    } while (after !== null);
  }
  return spans;
}

function spanOf({ id: run, isCovered }: ShownRun, event: PositionedEvent) {
  const { id, type, data, ts, position } = event;
  const { error, latencyMs: durationMs = 0 } = storedFacts(type, data);
  const cost = isCovered ? 0n : event.cost;
  return { run, id, type, position, atMs: ts, durationMs, cost, error };
}

/** Returns the slowest step and the most expensive call: the first of several, null for only one. */
export function marksOf(spans: readonly Span[]) {
  const calls = spans.filter(({ type }) => type === "llm_call");
  return {
    slowest: largest(spans, ({ durationMs }) => durationMs),
    costliest: largest(calls, ({ cost }) => cost),
  };
}

function largest(spans: readonly Span[], of: (span: Span) => number | bigint): Span | null {
  let found: Span | null = null;
  for (const span of spans) if (of(span) > (found === null ? 0 : of(found))) found = span;
  return spans.length > 1 ? found : null;
}

/** Returns whether a step is that of a mark. */
export function isMarked({ run, preview }: Step, mark: Span | null): boolean {
  return mark !== null && preview?.event.id === mark.id && run === mark.run;
}
