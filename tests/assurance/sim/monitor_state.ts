/**
 * Monitors of a team in the model: their changes by calls, outcomes and time. Imports nothing from
 * the service.
 */
import { afterOutcome, changed, created, judged, paused, resumed } from "./monitors.ts";
import { pingSchedule } from "./schedules.ts";
import {
  type Absence,
  asClosed,
  type Fields,
  type Monitor,
  type Monitors,
  type MonitorSettings,
  type Outcome,
  type Part,
  type Run,
  same,
  type State,
} from "./shape.ts";

export const NO_MONITORS: Monitors = { of: {}, outcomes: {} };

export interface MonitorCall {
  readonly what: "put" | "delete" | "pause" | "resume";
  readonly agent: string;
  /** Settings of a put. */
  readonly settings?: Fields;
  /** Milliseconds until a pause ends; null for none. */
  readonly forMs?: number | null;
  /** True if a success does not end a pause. */
  readonly sticky?: boolean;
}

/** Counts the outcomes of runs that changed since the last time, as the worker does. */
export function countOutcomes(state: State): State {
  const outcomes = Object.entries(state.runs).map(([id, run]) => [id, outcomeOf(id, run)]);
  const of = { ...state.monitors.of };
  for (const outcome of waitingOutcomes(state)) {
    const monitor = of[outcome.agent];
    if (monitor !== undefined) of[outcome.agent] = afterOutcome(monitor, outcome);
  }
  return { ...state, monitors: { of, outcomes: Object.fromEntries(outcomes) } };
}

/** Returns the outcomes of monitored agents that are not counted yet, by arrival. */
export function waitingOutcomes({ monitors, runs }: State): Outcome[] {
  const outcomes = Object.entries(runs).flatMap(([id, run]) => outcomeOf(id, run) ?? []);
  return outcomes.filter((outcome) =>
    outcome.agent in monitors.of && !same(outcome, monitors.outcomes[outcome.run] ?? null)
  ).sort((a, b) => a.at - b.at || nameOf(a, b));
}

export function judgeMonitors(
  state: State,
  horizon: number,
  absences: readonly Absence[],
): State {
  const of = Object.entries(state.monitors.of)
    .map(([agent, monitor]) => [agent, judged(monitor, horizon, absences)]);
  return { ...state, monitors: { ...state.monitors, of: Object.fromEntries(of) } };
}

/** Makes a change by a call; returns the status that the call gets. */
export function changeMonitor(state: State, call: MonitorCall, now: number): [State, number] {
  const { agent } = call;
  const monitor = state.monitors.of[agent];
  if (call.what === "put" && agent in state.agents) {
    const settings = withDefaults(call.settings ?? {});
    const next = monitor === undefined
      ? created(settings, now, outcomesOf(state, agent))
      : changed(monitor, settings, now);
    return [withMonitor(state, agent, next), next === monitor ? 200 : 202];
  }
  if (monitor === undefined || call.what === "put") return [state, 404];
  if (call.what === "delete") return [withMonitor(state, agent, null), 200];
  if (call.what === "resume") return [withMonitor(state, agent, resumed(monitor, now)), 200];
  const { forMs = null, sticky = false } = call;
  const pause = { until: forMs === null ? null : now + forMs, sticky };
  return [withMonitor(state, agent, paused(monitor, pause, now)), 200];
}

/** Creates the monitor that a ping asks for, if its agent has none (decision 114). */
export function afterPing(state: State, id: string, fields: Fields, isNew: boolean, now: number) {
  const agent = String(state.runs[id]?.opening?.agent);
  const { settings } = pingSchedule(fields);
  if (settings === null || agent in state.monitors.of) return state;
  // The outcome of a new ping is the first one that counts.
  const at = isNew ? now - 1 : now;
  const monitor = created(withDefaults({ ...settings }), at, outcomesOf(state, agent));
  return withMonitor(state, agent, monitor);
}

function withDefaults(settings: Fields): MonitorSettings {
  const { schedule, grace_seconds, failure_threshold = 1, recovery_threshold = 1, enabled = true } =
    settings as unknown as MonitorSettings;
  return { schedule, grace_seconds, failure_threshold, recovery_threshold, enabled };
}

function withMonitor(state: State, agent: string, monitor: Monitor | null): State {
  const { [agent]: _, ...others } = state.monitors.of;
  const of = monitor === null ? others : { ...others, [agent]: monitor };
  return { ...state, monitors: { ...state.monitors, of } };
}

function outcomesOf({ monitors }: State, agent: string): Outcome[] {
  return Object.values(monitors.outcomes)
    .flatMap((outcome) => outcome?.agent === agent ? [outcome] : [])
    .sort((a, b) => a.at - b.at || nameOf(a, b));
}

/** A run arrives with its close, or with its opening if that comes later. */
function outcomeOf(run: string, stored: Run): Outcome | null {
  const { opening, closing } = asClosed(stored);
  if (opening === undefined || closing === undefined || closing.status === "cancelled") return null;
  const at = Math.max(...[opening, closing].map(({ received_at }: Part) => received_at));
  return { run, agent: opening.agent, at, isOk: closing.status === "success" };
}

function nameOf(a: Outcome, b: Outcome): number {
  return a.run < b.run ? -1 : 1;
}
