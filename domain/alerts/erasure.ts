/**
 * Removes data of runs and customers from incidents and their messages (decision 57).
 *
 * Each function returns its argument if nothing changes.
 *
 * @module
 */
import type { IncidentFacts } from "../channels/message.ts";
import type { RunId } from "../core/ids.ts";
import type { Incident, TimelineEntry } from "./incident.ts";
import type { AlertInstance } from "./instance.ts";
import type { Outcome } from "../outcomes/window.ts";

/** Title of an incident whose customer was deleted. */
const ERASED_TITLE = "The customer of this incident was deleted";

/** Removes runs from what is said about an incident; the error is that of the newest run. */
export function withoutRuns<Facts extends IncidentFacts>(
  facts: Facts,
  isGone: (run: RunId) => boolean,
): Facts {
  const runs = facts.runs.filter((run) => !isGone(run));
  if (runs.length === facts.runs.length) return facts;
  const error = runs[0] === facts.runs[0] ? facts.error : null;
  return { ...facts, runs, error };
}

/** Removes runs from an incident. */
export function incidentWithoutRuns(
  incident: Incident,
  isGone: (run: RunId) => boolean,
): Incident {
  const isNamed = (entry: TimelineEntry) =>
    entry.what === "repeated" && entry.run !== null && isGone(entry.run);
  const changed = withoutRuns(incident, isGone);
  if (!changed.timeline.some(isNamed)) return changed;
  const timeline = changed.timeline.map((entry) =>
    isNamed(entry) ? { ...entry, run: null } : entry
  );
  return { ...changed, timeline: timeline as readonly TimelineEntry[] };
}

/** Removes runs from a group that fires. The names of its outcomes stay, so that they count once. */
export function instanceWithoutRuns(
  instance: AlertInstance,
  isGone: (run: RunId) => boolean,
): AlertInstance {
  const without = <Some extends Pick<Outcome, "run">>(outcome: Some): Some =>
    outcome.run !== null && isGone(outcome.run) ? { ...outcome, run: null } : outcome;
  const { base, kept } = instance.outcomes;
  const changed = kept.map(without);
  const last = base.last && without(base.last);
  const runs = base.runs.filter((run) => !isGone(run));
  const isSame = changed.every((outcome, i) => outcome === kept[i]) && last === base.last &&
    runs.length === base.runs.length;
  return isSame
    ? instance
    : { ...instance, outcomes: { base: { ...base, runs, last }, kept: changed } };
}

/** Removes the error, which is text of a payload. */
export function withoutError<Facts extends IncidentFacts>(facts: Facts): Facts {
  return facts.error === null ? facts : { ...facts, error: null };
}

/** Removes the customer, and all that says something about the customer's runs. */
export function withoutCustomer(facts: IncidentFacts): IncidentFacts {
  if (facts.group.customer === undefined) return facts;
  return { ...facts, group: {}, title: ERASED_TITLE, error: null, runs: [], value: null };
}

/** Returns the runs that an incident names, each once. */
export function runsOfIncident({ runs, timeline }: Incident): RunId[] {
  const repeated = timeline.flatMap((entry) =>
    entry.what === "repeated" && entry.run !== null ? [entry.run] : []
  );
  return [...new Set([...runs, ...repeated])];
}
