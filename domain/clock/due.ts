/**
 * The due index: work that waits for an instant.
 *
 * A row says only when to look and at what; the object itself says what to do. So a row that comes
 * too early or twice is harmless, and an event that postpones a deadline moves no row: the look
 * files the row again (decision 50).
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";

/** Kinds of rows, each with one handler. */
export const DUE_KINDS = [
  "idle",
  "monitor",
  "rule",
  "silence",
  "incident",
  "delivery",
] as const;

/**
 * One of {@link DUE_KINDS}: `idle`: an open run; `monitor`: the monitor of an agent; `rule`: an alert
 * rule, or one of its groups; `silence`: a silence that ends; `incident` and `delivery`: one that
 * expires.
 */
export type DueKind = typeof DUE_KINDS[number];

/** A row of the due index. */
export interface DueRow {
  /** Time to look, unix milliseconds. */
  readonly at: number;
  /** Kind of the object. */
  readonly kind: DueKind;
  /** Team of the object. */
  readonly team: TeamId;
  /** Name of the object: such as a run's id or an agent's slug. */
  readonly name: string;
  /** Number of looks that failed on their own. */
  readonly failures: number;
}

/** Milliseconds between two turns of the clock, on a machine, after which it was absent. */
export const ABSENCE_MS = 60_000;

/** Time during which no look was possible, because no process did the background work. */
export interface Absence {
  /** Last turn of the clock before it, unix milliseconds. */
  readonly fromMs: number;
  /** First turn of the clock after it, unix milliseconds. */
  readonly untilMs: number;
}

/** A turn of the clock, as its store notes it. */
export interface NotedTurn {
  /** True if rows wait. */
  readonly waits: boolean;
  /** True for the first turn of a process, and for the first since it has the lease. */
  readonly isFirst: boolean;
}

/** Times that a look needs. */
export interface ClockTurn {
  /** Time of the turn, unix milliseconds. */
  readonly nowMs: number;
  /** Latest absences, in order; a deadline inside one is postponed (decision 51). */
  readonly absences: readonly Absence[];
  /**
   * Time before which all calls are summarized, unix milliseconds. Rows up to it are looked at, so a
   * signal that waits to be summarized counts. A deadline after it waits for another look.
   */
  readonly summarizedToMs: number;
}

/** Looks at the objects of one kind. */
export interface DueHandler {
  /** Kind of the objects. */
  readonly kind: DueKind;
  /**
   * Looks at objects, and removes or files each row again in the commit of what it changes. It may be
   * called again for the same row. When it throws, it is called for each half of the rows.
   *
   * @param rows due rows of one team, each object once
   * @returns rows whose look failed on its own: the clock postpones them
   */
  look(rows: readonly DueRow[], turn: ClockTurn): Promise<readonly DueRow[]>;
}

/** Longest absence whose length is added to a postponed deadline, milliseconds. */
const POSTPONE_MS_MAX = 900_000;

/** Returns the time up to which an absence excuses deadlines inside it, unix milliseconds. */
export function excusedUntil({ fromMs, untilMs }: Absence): number {
  return untilMs + Math.min(untilMs - fromMs, POSTPONE_MS_MAX);
}

/**
 * Returns the time at which a deadline is judged: the deadline, unless it is inside an absence. Then
 * clients get as long as the absence took, 15 minutes at most, and the grace (decision 51).
 *
 * @param deadlineMs unix milliseconds
 * @param graceMs milliseconds
 * @param absences in order
 */
export function judgedAt(
  deadlineMs: number,
  graceMs: number,
  absences: readonly Absence[],
): number {
  let atMs = deadlineMs;
  for (const absence of absences) {
    if (atMs < absence.fromMs || atMs >= absence.untilMs) continue;
    atMs = excusedUntil(absence) + graceMs;
  }
  return atMs;
}
