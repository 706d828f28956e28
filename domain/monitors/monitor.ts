/**
 * The monitor of an agent: whether its runs come when they are expected (decisions 107 to 111).
 *
 * Each function returns the monitor after a change and the flips that it caused. A flip has the
 * instant of the arrival or the deadline that caused it, and is never before the last one.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import { closeKind, compareOutcomes, type Outcome } from "../outcomes/window.ts";
import type { RunSummary } from "../runs/summary.ts";
import type { MadeBy } from "../teams/team.ts";
import { MONITORS } from "./body.ts";
import { watchFrom, withDeadline } from "./deadlines.ts";
import {
  type FlipReason,
  missedAt,
  type Monitor,
  type MonitorChange,
  type MonitorPause,
  type MonitorSettings,
  type MonitorStreak,
  runOutcome,
  streakOf,
  windowFrom,
  withFlip,
  withMissed,
  withRunOutcome,
} from "./row.ts";
import { type CronSlots, expectedAfter } from "./schedule.ts";

export * from "./row.ts";
export { deadlinesOf, evaluateMonitor, nextDueAt } from "./deadlines.ts";
export { runOutcome } from "./row.ts";

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
    outcomes: windowFrom(at, []),
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
  const [before, after] = [MONITORS.fieldsOf(monitor.settings), MONITORS.fieldsOf(settings)];
  if (isSame(before, after)) return null;
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
  const isRescheduled = !isSame(before["schedule"], after["schedule"]);
  const judged = isRescheduled ? rescheduled(changed, at) : regraced(changed, at);
  const streak = streakOf(judged);
  const to = streak.isFiring ? "down" : judged.state === "down" ? recovered(judged) : judged.state;
  const reason = streak.isFiring ? streak.reason ?? "failed" : "changed";
  const { monitor: flipped, flips } = withFlip({ ...judged, state: monitor.state }, to, at, reason);
  return { monitor: withDeadline(flipped), flips };
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
 * Counts outcomes of the agent, in any order; one that was counted before changes nothing.
 *
 * An outcome that is older than all kept ones no longer changes failures in a row.
 *
 * @param slots slots of cron lines; given where many monitors are changed
 */
export function addOutcomes(
  monitor: Monitor,
  outcomes: readonly Outcome[],
  slots?: CronSlots,
): MonitorChange {
  let change = unchanged(monitor);
  for (const outcome of outcomes.toSorted(compareOutcomes)) {
    const { monitor: after, flips } = afterOutcome(change.monitor, outcome, slots);
    change = {
      monitor: after,
      flips: flips.length === 0 ? change.flips : [...change.flips, ...flips],
    };
  }
  return { monitor: withDeadline(change.monitor, slots), flips: change.flips };
}

/** Returns the number of failures since the last success. */
export function failuresInRow(monitor: Monitor): number {
  return streakOf(monitor).bads;
}

/**
 * Returns the outcome that a change of a run's summary is; null for none.
 *
 * @param before the summary before; null for none
 */
export function outcomeOf(
  before: RunSummary | null,
  after: RunSummary,
  run: RunId,
): Outcome | null {
  const kind = closeKind(after);
  // A run that was reopened may have ended again before this change was summarized.
  const isSame = before !== null && closeKind(before) === kind &&
    before.times?.receivedAt === after.times?.receivedAt &&
    before.contribution?.labels.agent === after.contribution?.labels.agent;
  if (kind === null || after.times === null || isSame) return null;
  return runOutcome(kind, run, after.times.receivedAt);
}

function afterOutcome(
  monitor: Monitor,
  outcome: Outcome,
  slots: CronSlots | undefined,
): MonitorChange {
  const { pause, settings, since } = monitor;
  const { at } = outcome;
  const run = outcome.run ?? undefined;
  if (pause !== null && pause.untilMs !== null && pause.untilMs <= at) {
    const { monitor: resumed, flips } = resumeMonitor(monitor, pause.untilMs);
    const next = afterOutcome(resumed, outcome, slots);
    return { monitor: next.monitor, flips: [...flips, ...next.flips] };
  }
  const counted = withArrival(monitor, outcome, slots);
  const resumes = pause !== null && !pause.isSticky && settings.enabled &&
    outcome.kind === "good" && at > since;
  if (resumes) return resumedAt({ ...counted, pause: null }, at, run);
  if (monitor.state === "paused") return unchanged(counted);
  const streak = streakOf(counted);
  const to = streak.isFiring ? "down" : stateAfter(monitor, counted);
  return withFlip(counted, to, at, reasonOf(monitor, streak), run);
}

/** Returns the state of a monitor that is not down, after it counted an outcome. */
function stateAfter(before: Monitor, after: Monitor): Monitor["state"] {
  const isLater =
    (after.lastArrivalAt ?? 0) > Math.max(before.lastArrivalAt ?? 0, before.watchedFrom);
  if (before.state === "new") return after.lastArrivalAt === null ? "new" : "up";
  return before.state === "late" && !isLater ? "late" : "up";
}

function reasonOf({ state }: Monitor, { isFiring, reason }: MonitorStreak): FlipReason {
  if (isFiring) return reason ?? "failed";
  return state === "down" ? "recovered" : "arrived";
}

/** Returns a monitor that keeps an outcome, with the latest arrivals. */
function withArrival(monitor: Monitor, outcome: Outcome, slots: CronSlots | undefined): Monitor {
  const { at, kind } = outcome;
  const counted = withRunOutcome(monitor, outcome);
  if (kind === "overrun") return counted;
  const { lastArrivalAt, lastOkAt } = monitor;
  return {
    ...withLateArrival(counted, at, slots),
    lastArrivalAt: Math.max(lastArrivalAt ?? at, at),
    lastOkAt: kind === "good" ? Math.max(lastOkAt ?? at, at) : lastOkAt,
  };
}

/**
 * Returns a monitor with its missed deadline after an arrival. An arrival before it that is counted
 * late moves it to the deadline after that arrival, if the next arrival missed that one.
 */
function withLateArrival(
  monitor: Monitor,
  arrivalMs: number,
  slots: CronSlots | undefined,
): Monitor {
  const missed = missedAt(monitor);
  if (missed === null || arrivalMs > missed) return monitor;
  const { settings: { schedule, graceSeconds }, outcomes: { kept } } = monitor;
  const deadline = expectedAfter(schedule, arrivalMs, slots) + graceSeconds * 1_000;
  if (deadline <= missed) return monitor;
  const next = kept.find(({ at, kind }) => (kind === "good" || kind === "bad") && at > arrivalMs);
  return withMissed(monitor, next !== undefined && deadline < next.at ? deadline : null);
}

function recovered({ lastArrivalAt }: Monitor): Monitor["state"] {
  return lastArrivalAt === null ? "new" : "up";
}

/** Returns a monitor that expects the new schedule from an instant on. */
function rescheduled(monitor: Monitor, at: number): Monitor {
  return {
    ...withMissed(monitor, null),
    ...{ watchedFrom: at, expectedAt: null, excusedUntil: null },
    state: monitor.state === "late" ? "up" : monitor.state,
  };
}

/** Returns a monitor with a new grace: it is only late again if the grace has not ended. */
function regraced(monitor: Monitor, at: number): Monitor {
  const { expectedAt, settings, state } = monitor;
  if (state !== "down" || missedAt(monitor) === null || expectedAt === null) return monitor;
  if (expectedAt > at || expectedAt + settings.graceSeconds * 1_000 <= at) return monitor;
  return { ...withMissed(monitor, null), state: "late" };
}

function pausedAt(monitor: Monitor, atMs: number): MonitorChange {
  return withFlip({ ...monitor, expectedAt: null }, "paused", atMs, "paused");
}

function resumedAt(monitor: Monitor, atMs: number, run?: RunId): MonitorChange {
  const watched = watchFrom(monitor, atMs);
  const resumed = withFlip({ ...watched, state: "paused" }, watched.state, atMs, "resumed", run);
  // Outcomes after the one that ends a pause may be counted before it.
  const last = watched.outcomes.kept.at(-1);
  const { isFiring, reason } = streakOf(watched);
  if (last === undefined || !isFiring) return resumed;
  const [cause, lastRun] = [reason ?? "failed", last.run ?? undefined];
  const down = withFlip(resumed.monitor, "down", last.at, cause, lastRun);
  return { monitor: down.monitor, flips: [...resumed.flips, ...down.flips] };
}

function unchanged(monitor: Monitor): MonitorChange {
  return { monitor, flips: [] };
}

/** Returns whether fields are equal; both are in the same order. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
