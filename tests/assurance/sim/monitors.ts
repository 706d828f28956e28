/**
 * Monitors as the contract describes them (decisions 51 and 107 to 114; docs/MONITORS.md): pure
 * functions from a monitor and an event to the next monitor. Imports nothing from the service.
 */
import { expectedAfter } from "./schedules.ts";
import {
  type Absence,
  type Flip,
  type Monitor,
  type MonitorSettings,
  type MonitorState,
  type Outcome,
  same,
} from "./shape.ts";

/** Longest absence whose length is added to a postponed deadline, in milliseconds. */
const POSTPONE_MS_MAX = 900_000;

/** Milliseconds after a change until a deadline that it moved into the past is judged. */
const CHANGE_RECHECK_MS = 2_000;

/** Failures and successes in a row, and whether they make a monitor down. */
interface Streak {
  readonly isDown: boolean;
  readonly fails: number;
  readonly oks: number;
  readonly reason: string | null;
}

const NO_STREAK: Streak = { isDown: false, fails: 0, oks: 0, reason: null };

/** Creates a monitor; `past` are outcomes of its agent that are known already, by arrival. */
export function created(settings: MonitorSettings, at: number, past: readonly Outcome[]): Monitor {
  const before = past.filter((outcome) => outcome.at <= at);
  const known = {
    ...{ settings, version: 1, updated_at: at, state: "paused" as const, since: at },
    ...{ judged_from: at, watched_from: at, outcomes: [] },
    ...{ last_arrival_at: lastOf(before), last_ok_at: lastOf(before.filter(({ isOk }) => isOk)) },
    ...{ expected_at: null, excused_until: null, missed_at: null },
    ...{ pause: null, flips: [] },
  };
  const monitor = settings.enabled ? watched(known, at) : known;
  const first: Flip = { at, from: null, to: monitor.state, reason: "created", run_id: null };
  return past.slice(before.length).reduce(afterOutcome, { ...monitor, flips: [first] });
}

/** Changes the settings; the same monitor if nothing differs. */
export function changed(monitor: Monitor, settings: MonitorSettings, at: number): Monitor {
  if (same(settings, monitor.settings)) return monitor;
  const next = { ...monitor, settings, version: monitor.version + 1, updated_at: at };
  if (!settings.enabled) return flipped({ ...next, expected_at: null }, "paused", at, "paused");
  if (next.pause !== null) return next;
  if (next.state === "paused") return judgedAgain(next, at);
  const rescheduled = !same(settings.schedule, monitor.settings.schedule);
  const timed = rescheduled ? withNewSchedule(next, at) : withNewGrace(next, at);
  const streak = streakOf(timed);
  const to = streak.isDown ? "down" : timed.state === "down" ? idleState(timed) : timed.state;
  const reason = streak.isDown ? streak.reason ?? "failed" : "changed";
  return expecting(flipped({ ...timed, state: monitor.state }, to, at, reason));
}

export function paused(monitor: Monitor, pause: NonNullable<Monitor["pause"]>, at: number) {
  return flipped({ ...monitor, pause, expected_at: null }, "paused", at, "paused");
}

export function resumed(monitor: Monitor, at: number): Monitor {
  if (monitor.pause === null) return monitor;
  const ended = { ...monitor, pause: null };
  return ended.settings.enabled ? judgedAgain(ended, at) : ended;
}

/** Counts an outcome; one that is known changes nothing. */
export function afterOutcome(monitor: Monitor, outcome: Outcome): Monitor {
  const { pause, settings, since, state } = monitor;
  const until = pause?.until ?? null;
  if (until !== null && until <= outcome.at) return afterOutcome(resumed(monitor, until), outcome);
  const counted = withOutcome(monitor, outcome);
  const ends = pause !== null && !pause.sticky && settings.enabled && outcome.isOk;
  if (ends && outcome.at > since) {
    return judgedAgain({ ...counted, pause: null }, outcome.at, outcome.run);
  }
  if (state === "paused") return counted;
  const streak = streakOf(counted);
  const to = streak.isDown ? "down" : stateAfter(monitor, counted);
  const reason = streak.isDown
    ? streak.reason ?? "failed"
    : state === "down"
    ? "recovered"
    : "arrived";
  return expecting(flipped(counted, to, outcome.at, reason, outcome.run));
}

/** Judges the deadlines up to an instant. */
export function judged(monitor: Monitor, horizon: number, absences: readonly Absence[]): Monitor {
  const until = monitor.pause?.until ?? null;
  const judged = until !== null && until <= horizon ? resumed(monitor, until) : monitor;
  return afterDeadlines(absences.reduce(afterAbsence, judged), horizon);
}

/** Returns when a monitor is down if no run comes; null while none is expected. */
export function downAfter(monitor: Monitor): number | null {
  const late = lateAt(monitor);
  return late === null ? null : late + monitor.settings.grace_seconds * 1_000;
}

export function failing(monitor: Monitor): number {
  return streakOf(monitor).fails;
}

/**
 * A deadline inside the absence is postponed by the length of the absence, whether it was there
 * already or a change moved it there since.
 */
function afterAbsence(monitor: Monitor, { fromMs, untilMs }: Absence): Monitor {
  const deadlines = monitor.state === "up"
    ? [lateAt(monitor), downAfter(monitor)]
    : monitor.state === "late"
    ? [downAfter(monitor)]
    : [];
  const isInside = deadlines.some((at) => at !== null && at >= fromMs && at <= untilMs);
  if (!isInside) return monitor;
  return { ...monitor, excused_until: untilMs + Math.min(untilMs - fromMs, POSTPONE_MS_MAX) };
}

function afterDeadlines(monitor: Monitor, horizon: number): Monitor {
  const [late, down] = [lateAt(monitor), downAfter(monitor)];
  if (late === null || down === null) return monitor;
  // A deadline that new settings moved into the past is reached by the change.
  const reached = (at: number) => Math.max(at, monitor.updated_at);
  const judgedAt = (at: number) =>
    at <= monitor.updated_at ? monitor.updated_at + CHANGE_RECHECK_MS : at;
  const isLate = monitor.state === "up" && judgedAt(late) <= horizon;
  const after = isLate && late < down
    ? flipped(monitor, "late", reached(late), "expected")
    : monitor;
  if (!(isLate || monitor.state === "late") || judgedAt(down) > horizon) return after;
  const missed = { ...after, missed_at: reached(down) };
  return flipped(missed, "down", reached(down), "missed");
}

function lateAt({ expected_at, excused_until }: Monitor): number | null {
  return expected_at === null ? null : Math.max(expected_at, excused_until ?? 0);
}

/** Each outcome of a run counts once, and none that arrived before the judged time. */
function withOutcome(monitor: Monitor, outcome: Outcome): Monitor {
  const { judged_from, last_arrival_at, last_ok_at, outcomes } = monitor;
  const { at, isOk } = outcome;
  const known = outcomes.find(({ run, ...other }) => run === outcome.run && other.isOk === isOk);
  // A run that was reopened ends again: its latest close counts.
  const others = outcomes.filter((other) => other !== known);
  const next = at <= Math.max(judged_from, known?.at ?? 0)
    ? monitor
    : { ...monitor, outcomes: [...others, outcome].sort(byArrival) };
  return {
    ...next,
    missed_at: missedAfter(next, at),
    last_arrival_at: Math.max(last_arrival_at ?? at, at),
    last_ok_at: isOk ? Math.max(last_ok_at ?? at, at) : last_ok_at,
  };
}

/** Returns the deadline that was missed, given an arrival that may have been before it. */
function missedAfter({ missed_at, outcomes, settings }: Monitor, at: number): number | null {
  if (missed_at === null || at > missed_at) return missed_at;
  const deadline = expectedAfter(settings.schedule, at) + settings.grace_seconds * 1_000;
  if (deadline <= missed_at) return missed_at;
  const next = outcomes.find((outcome) => outcome.at > at);
  return next !== undefined && deadline < next.at ? deadline : null;
}

/** Counts all outcomes of the judged time in the order of their arrivals. */
function streakOf({ missed_at, outcomes, settings }: Monitor): Streak {
  const before = outcomes.filter(({ at }) => missed_at === null || at <= missed_at);
  const count = (streak: Streak, { isOk }: Outcome) => isOk ? afterOk(streak) : afterFail(streak);
  const streak = before.reduce(count, NO_STREAK);
  if (missed_at === null) return streak;
  const missed = {
    ...streak,
    isDown: true,
    oks: 0,
    reason: streak.isDown ? streak.reason : "missed",
  };
  return outcomes.slice(before.length).reduce(count, missed);

  function afterOk({ isDown, oks, reason }: Streak): Streak {
    const stays = isDown && oks + 1 < settings.recovery_threshold;
    return { isDown: stays, fails: 0, oks: oks + 1, reason: stays ? reason : null };
  }

  function afterFail({ isDown, fails, reason }: Streak): Streak {
    const goesDown = isDown || fails + 1 >= settings.failure_threshold;
    const cause = isDown ? reason : goesDown ? "failed" : null;
    return { isDown: goesDown, fails: fails + 1, oks: 0, reason: cause };
  }
}

function stateAfter(before: Monitor, after: Monitor): MonitorState {
  if (before.state !== "late") return "up";
  const known = Math.max(before.last_arrival_at ?? 0, before.watched_from);
  return (after.last_arrival_at ?? 0) > known ? "up" : "late";
}

function withNewSchedule(monitor: Monitor, at: number): Monitor {
  const state = monitor.state === "late" ? "up" : monitor.state;
  return { ...monitor, state, ...{ watched_from: at, excused_until: null, missed_at: null } };
}

/** A longer grace takes back a missed run whose new deadline is still to come. */
function withNewGrace(monitor: Monitor, at: number): Monitor {
  const { expected_at, missed_at, settings: { grace_seconds }, state } = monitor;
  const isTakenBack = state === "down" && missed_at !== null && expected_at !== null &&
    expected_at <= at && expected_at + grace_seconds * 1_000 > at;
  return isTakenBack ? { ...monitor, missed_at: null, state: "late" } : monitor;
}

function judgedAgain(monitor: Monitor, at: number, run?: string): Monitor {
  const next = watched(monitor, at);
  const again = flipped({ ...next, state: "paused" }, next.state, at, "resumed", run);
  // Outcomes after the one that ends a pause may be counted before it.
  const { isDown, reason } = streakOf(again);
  const last = again.outcomes.at(-1);
  return isDown && last ? flipped(again, "down", last.at, reason ?? "failed", last.run) : again;
}

function watched(monitor: Monitor, at: number): Monitor {
  const outcomes = monitor.outcomes.filter((outcome) => outcome.at > at);
  const forgotten = { missed_at: null, excused_until: null, expected_at: null };
  const next = { ...monitor, ...forgotten, outcomes, judged_from: at, watched_from: at };
  return expecting({ ...next, state: idleState(monitor) });
}

function idleState({ last_arrival_at }: Monitor): MonitorState {
  return last_arrival_at === null ? "new" : "up";
}

/** Expects the next run after the last arrival, or after the monitor began to watch. */
function expecting(monitor: Monitor): Monitor {
  const { last_arrival_at, settings: { schedule }, state, watched_from } = monitor;
  if (state === "paused" || last_arrival_at === null) return monitor;
  const from = Math.max(last_arrival_at, watched_from);
  return { ...monitor, expected_at: expectedAfter(schedule, from) };
}

/** A flip is never before the last one. */
function flipped(monitor: Monitor, to: MonitorState, at: number, reason: string, run?: string) {
  const { flips, since, state: from } = monitor;
  if (from === to) return monitor;
  const flip: Flip = { at: Math.max(at, since), from, to, reason, run_id: run ?? null };
  return { ...monitor, state: to, since: flip.at, flips: [...flips, flip] };
}

function byArrival(a: Outcome, b: Outcome): number {
  const name = ({ run, isOk }: Outcome) => `${run} ${isOk ? "ok" : "fail"}`;
  return a.at - b.at || (name(a) < name(b) ? -1 : 1);
}

function lastOf(outcomes: readonly Outcome[]): number | null {
  return outcomes.length === 0 ? null : Math.max(...outcomes.map(({ at }) => at));
}
