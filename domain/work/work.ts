/**
 * The work queue: work that waits for an instant, or for a slot.
 *
 * A row says only what is due and when; the object itself says what to do. So a row that comes
 * too early or twice is harmless, and an event that postpones a deadline moves no row: the handler
 * files the row again (decision 50).
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";

/**
 * Lanes of the queue, each with a loop of its own, so that a slow kind never stands before another
 * one. `send`: messages to receivers. `run`: work on runs that teams decide how long it takes, so it
 * rests while calls arrive. `back`: work that nobody waits for, which rests as well. `settled`:
 * deadlines, which are judged once all calls before them are summarized (decision 51).
 */
export const LANES = ["send", "run", "back", "settled"] as const;

/** One of {@link LANES}. */
export type Lane = typeof LANES[number];

/** Waits between the tries of work that fails, milliseconds. */
interface Retry {
  /** Failed tries without a wait: most failures are transient. */
  readonly atOnce: number;
  /** The first wait; each further one doubles. */
  readonly firstMs: number;
  /** The longest wait. */
  readonly maxMs: number;
  /** Tries after which the work is given up. */
  readonly triesMax: number;
}

/**
 * All schedules of retries but that of messages, which receivers know (decision 87). `run`: work on
 * a run that fails by itself; `notice`: a mail about a quota; `soon`: runs that can be neither projected nor recorded as failed, and
 * jobs; `judge`: calls of a judge's model; `later`: other work of the queue.
 */
export const RETRIES = {
  run: { atOnce: 0, firstMs: 1_000, maxMs: Infinity, triesMax: 8 },
  notice: { atOnce: 0, firstMs: 60_000, maxMs: Infinity, triesMax: 8 },
  judge: { atOnce: 0, firstMs: 60_000, maxMs: Infinity, triesMax: 6 },
  soon: { atOnce: 2, firstMs: 1_000, maxMs: 300_000, triesMax: Infinity },
  later: { atOnce: 0, firstMs: 60_000, maxMs: 3_600_000, triesMax: Infinity },
} as const satisfies Readonly<Record<string, Retry>>;

/** One of {@link RETRIES}. */
export type RetryName = keyof typeof RETRIES;

/**
 * Returns the time of the next try, unix milliseconds; `dead` if the work is given up.
 *
 * @param tries failed tries so far
 * @param nowMs time of the last one
 */
export function retryAt(retry: RetryName, tries: number, nowMs: number): number | "dead" {
  const { atOnce, firstMs, maxMs, triesMax }: Retry = RETRIES[retry];
  if (tries >= triesMax) return "dead";
  return tries <= atOnce ? nowMs : nowMs + Math.min(maxMs, firstMs * 2 ** (tries - atOnce - 1));
}

/** The rules of a kind of work. */
export interface KindRules {
  /** Lane of its rows. */
  readonly lane: Lane;
  /** Rows of one team that its handler takes at once. */
  readonly batch: number;
  /** Batches under way at once, and those of one team. */
  readonly slots: { readonly all: number; readonly team: number };
  /** Schedule of rows that fail; `later` when absent. */
  readonly retry?: RetryName;
}

/** Rules of work in short steps, after which it takes its turn again. */
const STEPS: KindRules = { lane: "back", batch: 1, slots: { all: 4, team: 1 }, retry: "soon" };

/** Rules of kinds that commit many objects of a team at once. */
const DEADLINES: KindRules = { lane: "settled", batch: 500, slots: { all: 16, team: 1 } };

/**
 * Kinds of work, each with one handler. `run`: a run that failed, or that is judged later; `judge`: a run and a judge; `channel`: a channel with messages to send; `channel_slow`:
 * one whose last try took long or failed; `channel_report`: a mail to the owner of a team whose last
 * default channel does not work; `notice`: a mail about a quota; `quota`: the usage of a team;
 * `sweep`: the removal of old data, which has no rows; `reprice` and `deletion`: a job of a team; `purge`: a removed
 * run whose events are left; `idle`: an open run; `monitor`: the monitor of an agent; `rule`: an
 * alert rule, or one of its groups; `silence`: a silence that ends; `incident` and `delivery`: one
 * that expires.
 */
export const WORK_KINDS = {
  run: { lane: "run", batch: 1, slots: { all: 4, team: 2 } },
  judge: { lane: "run", batch: 1, slots: { all: 16, team: 4 } },
  channel: { lane: "send", batch: 1, slots: { all: 10, team: 5 } },
  channel_slow: { lane: "send", batch: 1, slots: { all: 5, team: 2 } },
  channel_report: { lane: "send", batch: 1, slots: { all: 2, team: 1 } },
  notice: { lane: "send", batch: 1, slots: { all: 5, team: 1 } },
  quota: { lane: "back", batch: 1, slots: { all: 4, team: 1 } },
  sweep: { lane: "back", batch: 1, slots: { all: 1, team: 1 } },
  reprice: STEPS,
  deletion: STEPS,
  purge: STEPS,
  idle: DEADLINES,
  monitor: DEADLINES,
  rule: DEADLINES,
  silence: DEADLINES,
  incident: DEADLINES,
  delivery: DEADLINES,
} as const satisfies Readonly<Record<string, KindRules>>;

/** One of {@link WORK_KINDS}. */
export type WorkKind = keyof typeof WORK_KINDS;

/** A row of the queue. */
export interface Work {
  /** Time at which it is due, unix milliseconds. */
  readonly at: number;
  /** Kind of the object. */
  readonly kind: WorkKind;
  /** Team of the object; empty for work on all teams. */
  readonly team: TeamId;
  /** Name of the object: such as a run's id or an agent's slug. */
  readonly name: string;
  /** Number of tries that failed on their own. */
  readonly failures: number;
  /** Error of the last of them; absent for none. */
  readonly error?: string;
}

/** Maximum characters stored of an error message. */
export const ERROR_CHARS_MAX = 500;

/** Returns the text of anything thrown, as rows of failed work store it. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.slice(0, ERROR_CHARS_MAX);
}

/** Milliseconds between two turns of the loop, on a machine, after which it was absent. */
export const ABSENCE_MS = 60_000;

/** Time during which no evaluation was possible, because no process did the background work. */
export interface Absence {
  /** Last turn before it, unix milliseconds. */
  readonly fromMs: number;
  /** First turn after it, unix milliseconds. */
  readonly untilMs: number;
}

/** A turn of the loop of deadlines, as its store notes it. */
export interface NotedTurn {
  /** True if rows wait. */
  readonly waits: boolean;
  /** True for the first turn of a process, and for the first since it has the lease. */
  readonly isFirst: boolean;
}

/** Times that handlers need. */
export interface WorkTime {
  /** Time at which the work began, unix milliseconds. */
  readonly nowMs: number;
  /** Latest absences, in order; a deadline inside one is postponed (decision 51). */
  readonly absences: readonly Absence[];
  /**
   * Time before which all calls are summarized, unix milliseconds. Rows of deadlines up to it are
   * taken, so a signal that waits to be summarized counts. A deadline after it waits for another
   * evaluation.
   */
  readonly summarizedToMs: number;
}

/** Does the work of one kind. */
export interface WorkHandler {
  /** Kind of the work. */
  readonly kind: WorkKind;
  /**
   * Returns the work of a kind without rows: the clock says when it is due, and the store what is
   * left of it.
   */
  readonly due?: (nowMs: number) => readonly Work[];
  /**
   * Does the work of objects, and removes or files each row again in the commit of its effect. It may be
   * called again for the same row. When it throws, it is called for each half of the rows; a single
   * row that fails is postponed.
   *
   * @param rows due rows of one team, each object once
   * @param stopping aborted when the process stops and the work has had its time to end
   * @returns rows whose work failed on its own: the loop postpones them
   */
  handle(rows: readonly Work[], time: WorkTime, stopping: AbortSignal): Promise<readonly Work[]>;
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
