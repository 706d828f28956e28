/**
 * Deadlines of a monitor: when it becomes late and down, and when to evaluate it (decisions 51, 109).
 *
 * @module
 */
import { type Absence, excusedUntil, type WorkTime } from "../work/work.ts";
import {
  type Flip,
  type Monitor,
  type MonitorChange,
  windowFrom,
  withFlip,
  withMissed,
} from "./row.ts";
import { type CronSlots, expectedAfter, isStillExpected } from "./schedule.ts";

/** Milliseconds after which a deadline is evaluated again that could not be judged yet. */
const RETRY_MS = 2_000;

/** Milliseconds from one evaluation for runs that last too long to the next. */
const OVERRUN_POLL_MS = 60_000;

/** Deadlines of a monitor, unix milliseconds; null while none is expected. */
export interface Deadlines {
  /** When its next run is expected; in the past while it is late or was missed. */
  readonly expectedAt: number | null;
  /** When it is down if none comes. */
  readonly downAfter: number | null;
}

/** Returns the deadlines of a monitor; null while it is new or paused. */
export function deadlinesOf({ expectedAt, excusedUntil, settings }: Monitor): Deadlines {
  if (expectedAt === null) return { expectedAt, downAfter: null };
  const lateAt = Math.max(expectedAt, excusedUntil ?? 0);
  return { expectedAt, downAfter: lateAt + settings.graceSeconds * 1_000 };
}

/**
 * Returns when to evaluate a monitor next, unix milliseconds; null for never.
 *
 * @param nowMs time of the evaluation or the change
 * @param running number of the agent's open runs
 */
export function nextDueAt(monitor: Monitor, nowMs: number, running: number): number | null {
  const { maxRuntimeSeconds } = monitor.settings;
  if (monitor.state === "paused") return monitor.pause?.untilMs ?? null;
  const times: number[] = [];
  const deadline = nextDeadline(monitor);
  if (deadline !== null) times.push(deadline > nowMs ? deadline : nowMs + RETRY_MS);
  if (maxRuntimeSeconds !== null && running > 0) times.push(nowMs + OVERRUN_POLL_MS);
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * Evaluates a monitor whose time has come: ends a pause, notes absences, and makes the monitor late
 * and down at the instants of the deadlines.
 */
export function evaluateMonitor(monitor: Monitor, turn: WorkTime): MonitorChange {
  const resumed = afterPause(monitor, turn.nowMs);
  const noted = afterAbsences(resumed.monitor, turn.absences);
  const judged = afterDeadlines(noted.monitor, Math.min(turn.nowMs, turn.summarizedToMs));
  return { monitor: judged.monitor, flips: [...resumed.flips, ...noted.flips, ...judged.flips] };
}

/** Returns a monitor that is judged from an instant on, `up` or `new`, without a flip. */
export function watchFrom(monitor: Monitor, atMs: number): Monitor {
  return withDeadline({
    ...monitor,
    state: monitor.lastArrivalAt === null ? "new" : "up",
    outcomes: windowFrom(atMs, monitor.outcomes.kept),
    ...{ watchedFrom: atMs, expectedAt: null, excusedUntil: null },
  });
}

/** Returns a monitor with the instant at which the next run is expected. */
export function withDeadline(monitor: Monitor, slots?: CronSlots): Monitor {
  const { expectedAt, lastArrivalAt, settings: { schedule }, state, watchedFrom } = monitor;
  if (state === "paused" || lastArrivalAt === null) return monitor;
  const fromMs = Math.max(lastArrivalAt, watchedFrom);
  if (expectedAt !== null && isStillExpected(schedule, expectedAt, fromMs)) return monitor;
  return { ...monitor, expectedAt: expectedAfter(schedule, fromMs, slots) };
}

/** Returns the deadline that changes the state next. */
function nextDeadline(monitor: Monitor): number | null {
  const { expectedAt, excusedUntil, state } = monitor;
  if (state === "late") return deadlinesOf(monitor).downAfter;
  if (state !== "up" || expectedAt === null) return null;
  return Math.max(expectedAt, excusedUntil ?? 0);
}

function afterPause(monitor: Monitor, nowMs: number): MonitorChange {
  const untilMs = monitor.pause?.untilMs ?? null;
  if (untilMs === null || untilMs > nowMs) return { monitor, flips: [] };
  const ended: Monitor = { ...monitor, pause: null };
  if (!ended.settings.enabled) return { monitor: ended, flips: [] };
  const watched = watchFrom(ended, untilMs);
  return withFlip({ ...watched, state: "paused" }, watched.state, untilMs, "resumed");
}

function afterAbsences(monitor: Monitor, absences: readonly Absence[]): MonitorChange {
  const flips: Flip[] = [];
  let noted = monitor;
  for (const { fromMs, untilMs } of absences) {
    // Also an absence that was noted before: a change may have moved a deadline into it since.
    if (isIn(noted, fromMs, untilMs)) {
      noted = { ...noted, excusedUntil: excusedUntil({ fromMs, untilMs }) };
    }
    if (untilMs <= (noted.absentUntil ?? noted.createdAt)) continue;
    noted = { ...noted, absentUntil: untilMs };
    const at = Math.max(fromMs, noted.watchedFrom);
    const isJudged = noted.state !== "paused" && noted.state !== "new";
    if (!isJudged || at >= untilMs) continue;
    flips.push({ at, until: untilMs, from: noted.state, to: "unknown", reason: "absence" });
  }
  return { monitor: noted, flips };
}

/** Returns whether a deadline that is still to come is in an absence. */
function isIn(monitor: Monitor, fromMs: number, untilMs: number): boolean {
  const late = nextDeadline(monitor);
  if (late === null) return false;
  const down = deadlinesOf(monitor).downAfter ?? late;
  return [late, down].some((deadline) => deadline >= fromMs && deadline <= untilMs);
}

function afterDeadlines(monitor: Monitor, horizonMs: number): MonitorChange {
  const { updatedAt, state } = monitor;
  const { downAfter } = deadlinesOf(monitor);
  const next = nextDeadline(monitor);
  if (next === null || next > horizonMs || downAfter === null) return { monitor, flips: [] };
  // A deadline that new settings moved into the past is reached by the change.
  const late = state === "up" && next < downAfter
    ? withFlip(monitor, "late", Math.max(next, updatedAt), "expected")
    : { monitor, flips: [] };
  if (downAfter > horizonMs) return late;
  const downAt = Math.max(downAfter, updatedAt);
  const down = withFlip(withMissed(late.monitor, downAt), "down", downAt, "missed");
  return { monitor: down.monitor, flips: [...late.flips, ...down.flips] };
}
