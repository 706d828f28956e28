/**
 * The monitor of an agent: whether its runs come when they are expected (decisions 107 to 111).
 *
 * Each function returns the monitor after a change and the flips that it caused. A flip has the
 * instant of the arrival or the deadline that caused it, and is never before the last one.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { RunSummary } from "../runs/summary.ts";
import type { MadeBy } from "../teams/team.ts";
import { watchFrom, withDeadline } from "./deadlines.ts";
import {
  type FlipReason,
  type Monitor,
  type MonitorChange,
  type MonitorPause,
  type MonitorSettings,
  withFlip,
} from "./row.ts";
import {
  addSignal,
  compareSignals,
  type Signal,
  type Streak,
  streakOf,
  windowFrom,
} from "./signals.ts";
import { type CronSlots, expectedAfter } from "./schedule.ts";

export * from "./row.ts";
export { deadlinesOf, lookAt, nextDueAt } from "./deadlines.ts";
export { type Signal, SIGNALS_MAX } from "./signals.ts";

/** Latest arrivals of an agent's outcomes, unix milliseconds; null for none. */
export type LastArrivals = Pick<Monitor, "lastArrivalAt" | "lastOkAt">;

/**
 * Creates a monitor. An agent with a past outcome is expected from now on.
 *
 * @param id identifier, `mon_…`
 */
export function createMonitor(
  agent: string,
  id: string,
  settings: MonitorSettings,
  { at, by }: MadeBy,
  last: LastArrivals,
): MonitorChange {
  const monitor: Monitor = {
    ...{ agent, id, version: 1, settings },
    ...{ createdAt: at, updatedAt: at, updatedBy: by },
    ...{ state: "paused", since: at },
    ...windowFrom(at, []),
    ...{ lastArrivalAt: last.lastArrivalAt, lastOkAt: last.lastOkAt },
    ...{ watchedFrom: at, expectedAt: null, excusedUntil: null, absentUntil: null },
    ...{ pause: null, dueAt: null, overrunsAfter: null },
  };
  const created = settings.enabled ? watchFrom(monitor, at) : monitor;
  return {
    monitor: created,
    flips: [{ at, from: null, to: created.state, reason: "created" }],
  };
}

/**
 * Changes the settings, with a new version.
 *
 * A new schedule is expected from now on, so that it is neither late nor missed by the old one.
 *
 * @returns null if nothing differs
 */
export function changeSettings(
  monitor: Monitor,
  settings: MonitorSettings,
  { at, by }: MadeBy,
): MonitorChange | null {
  if (contentOf(settings) === contentOf(monitor.settings)) return null;
  const changed: Monitor = {
    ...monitor,
    settings,
    version: monitor.version + 1,
    updatedAt: at,
    updatedBy: by,
  };
  if (!settings.enabled) return pausedAt(changed, at);
  if (changed.pause !== null) return unchanged(changed);
  if (changed.state === "paused") return resumedAt(changed, at);
  const isRescheduled = contentOf(settings.schedule) !== contentOf(monitor.settings.schedule);
  const judged = isRescheduled ? rescheduled(changed, at) : regraced(changed, at);
  const streak = streakOf(judged, settings);
  const to = streak.isDown ? "down" : judged.state === "down" ? recovered(judged) : judged.state;
  const reason = streak.isDown ? streak.reason ?? "failed" : "changed";
  const { monitor: after, flips } = withFlip({ ...judged, state: monitor.state }, to, at, reason);
  return { monitor: withDeadline(after), flips };
}

/** Pauses a monitor, or changes its pause. */
export function pauseMonitor(monitor: Monitor, pause: MonitorPause, atMs: number): MonitorChange {
  return pausedAt({ ...monitor, pause }, atMs);
}

/** Ends a pause. A monitor whose settings are not enabled stays paused. */
export function resumeMonitor(monitor: Monitor, atMs: number): MonitorChange {
  if (monitor.pause === null) return unchanged(monitor);
  const ended: Monitor = { ...monitor, pause: null };
  return ended.settings.enabled ? resumedAt(ended, atMs) : unchanged(ended);
}

/**
 * Counts signals of the agent, in any order; a signal that was counted before changes nothing.
 *
 * A signal that is older than all kept ones no longer changes failures in a row.
 *
 * @param slots slots of cron lines; given where many monitors are changed
 */
export function addSignals(
  monitor: Monitor,
  signals: readonly Signal[],
  slots?: CronSlots,
): MonitorChange {
  let change = unchanged(monitor);
  for (const signal of signals.toSorted(compareSignals)) {
    const { monitor: after, flips } = afterSignal(change.monitor, signal, slots);
    change = {
      monitor: after,
      flips: flips.length === 0 ? change.flips : [...change.flips, ...flips],
    };
  }
  return { monitor: withDeadline(change.monitor, slots), flips: change.flips };
}

/** Returns the number of failures since the last success. */
export function failuresInRow(monitor: Monitor): number {
  return streakOf(monitor, monitor.settings).fails;
}

/**
 * Returns the signal that a change of a run's summary is; null for none.
 *
 * @param before the summary before; null for none
 * @param id the run
 */
export function signalOf(before: RunSummary | null, after: RunSummary, id: RunId): Signal | null {
  const outcome = outcomeOf(after);
  const isSame = before !== null && outcomeOf(before) === outcome &&
    before.contribution?.labels.agent === after.contribution?.labels.agent;
  if (outcome === null || after.times === null || isSame) return null;
  return { at: after.times.receivedAt, run: id, outcome };
}

function outcomeOf({ contribution }: RunSummary): "ok" | "fail" | null {
  switch (contribution?.labels.status) {
    case "success":
      return "ok";
    case "failed":
    case "timeout":
      return "fail";
    default:
      return null;
  }
}

function afterSignal(
  monitor: Monitor,
  signal: Signal,
  slots: CronSlots | undefined,
): MonitorChange {
  const { pause, settings, since } = monitor;
  if (pause !== null && pause.untilMs !== null && pause.untilMs <= signal.at) {
    const { monitor: resumed, flips } = resumeMonitor(monitor, pause.untilMs);
    const next = afterSignal(resumed, signal, slots);
    return { monitor: next.monitor, flips: [...flips, ...next.flips] };
  }
  const counted = withArrival(monitor, signal, slots);
  const resumes = pause !== null && !pause.isSticky && settings.enabled &&
    signal.outcome === "ok" && signal.at > since;
  if (resumes) return resumedAt({ ...counted, pause: null }, signal.at, signal.run);
  if (monitor.state === "paused") return unchanged(counted);
  const streak = streakOf(counted, settings);
  const to = streak.isDown ? "down" : stateAfter(monitor, counted);
  const reason = reasonOf(monitor, streak);
  return withFlip(counted, to, signal.at, reason, signal.run);
}

/** Returns the state of a monitor that is not down, after it counted a signal. */
function stateAfter(before: Monitor, after: Monitor): Monitor["state"] {
  const isLater =
    (after.lastArrivalAt ?? 0) > Math.max(before.lastArrivalAt ?? 0, before.watchedFrom);
  if (before.state === "new") return after.lastArrivalAt === null ? "new" : "up";
  return before.state === "late" && !isLater ? "late" : "up";
}

function reasonOf({ state }: Monitor, { isDown, reason }: Streak): FlipReason {
  if (isDown) return reason ?? "failed";
  return state === "down" ? "recovered" : "arrived";
}

/** Returns a monitor that keeps a signal, with the latest arrivals. */
function withArrival(monitor: Monitor, signal: Signal, slots: CronSlots | undefined): Monitor {
  const { at, outcome } = signal;
  const counted = addSignal(monitor, signal, monitor.settings);
  if (outcome === "overrun") return counted;
  const { lastArrivalAt, lastOkAt } = monitor;
  return {
    ...counted,
    missedAt: missedWith(counted, at, slots),
    lastArrivalAt: Math.max(lastArrivalAt ?? at, at),
    lastOkAt: outcome === "ok" ? Math.max(lastOkAt ?? at, at) : lastOkAt,
  };
}

/**
 * Returns the missed deadline after an arrival. An arrival before it that is counted late moves it to
 * the deadline after that arrival, if the next arrival missed that one.
 */
function missedWith(
  { missedAt, settings, signals }: Monitor,
  arrivalMs: number,
  slots: CronSlots | undefined,
): number | null {
  if (missedAt === null || arrivalMs > missedAt) return missedAt;
  const expectedAt = expectedAfter(settings.schedule, arrivalMs, slots);
  const deadline = expectedAt + settings.graceSeconds * 1_000;
  if (deadline <= missedAt) return missedAt;
  const next = signals.find(({ at, outcome }) => outcome !== "overrun" && at > arrivalMs);
  return next !== undefined && deadline < next.at ? deadline : null;
}

function recovered({ lastArrivalAt }: Monitor): Monitor["state"] {
  return lastArrivalAt === null ? "new" : "up";
}

/** Returns a monitor that expects the new schedule from an instant on. */
function rescheduled(monitor: Monitor, at: number): Monitor {
  return {
    ...monitor,
    ...{ watchedFrom: at, expectedAt: null, excusedUntil: null, missedAt: null },
    state: monitor.state === "late" ? "up" : monitor.state,
  };
}

/** Returns a monitor with a new grace: it is only late again if the grace has not ended. */
function regraced(monitor: Monitor, at: number): Monitor {
  const { expectedAt, missedAt, settings, state } = monitor;
  if (state !== "down" || missedAt === null || expectedAt === null) return monitor;
  if (expectedAt > at || expectedAt + settings.graceSeconds * 1_000 <= at) return monitor;
  return { ...monitor, missedAt: null, state: "late" };
}

function pausedAt(monitor: Monitor, atMs: number): MonitorChange {
  return withFlip({ ...monitor, expectedAt: null }, "paused", atMs, "paused");
}

function resumedAt(monitor: Monitor, atMs: number, run?: RunId): MonitorChange {
  const watched = watchFrom(monitor, atMs);
  const resumed = withFlip({ ...watched, state: "paused" }, watched.state, atMs, "resumed", run);
  // Outcomes after the one that ends a pause may be counted before it.
  const last = watched.signals.at(-1);
  const { isDown, reason } = streakOf(watched, watched.settings);
  if (last === undefined || !isDown) return resumed;
  const down = withFlip(resumed.monitor, "down", last.at, reason ?? "failed", last.run);
  return { monitor: down.monitor, flips: [...resumed.flips, ...down.flips] };
}

function unchanged(monitor: Monitor): MonitorChange {
  return { monitor, flips: [] };
}

/** Returns values in a fixed order, to compare them. */
function contentOf(value: MonitorSettings | MonitorSettings["schedule"]): string {
  const [fields, schedule] = "schedule" in value ? [value, value.schedule] : [null, value];
  return JSON.stringify([
    ..."cron" in schedule ? [schedule.cron, schedule.tz] : [schedule.everySeconds],
    ...fields === null ? [] : [
      fields.graceSeconds,
      fields.maxRuntimeSeconds,
      fields.failureThreshold,
      fields.recoveryThreshold,
      fields.enabled,
    ],
  ]);
}
