/**
 * Schedules of monitors: a period, or a cron expression in a time zone (decision 108).
 *
 * @module
 */
import { Cron } from "croner";
import cronstrue from "cronstrue";

/** When an agent is expected: each period after its last arrival, or at the slots of a cron line. */
export type Schedule =
  | {
    /** Seconds from one arrival to the next. */
    readonly everySeconds: number;
  }
  | {
    /** Cron expression of 5 or 6 fields, or a nickname such as `@daily`. */
    readonly cron: string;
    /** IANA time zone. */
    readonly tz: string;
  };

/** A schedule with slots. */
type CronSchedule = Extract<Schedule, { readonly cron: string }>;

/** Minimum and maximum seconds of a period; slots are as far apart as the minimum. */
export const EVERY_SECONDS = { min: 60, max: 31_536_000 } as const;

/** Minimum and maximum seconds of a grace. */
export const GRACE_SECONDS = { min: 0, max: 31_536_000 } as const;

/** Maximum characters of a cron expression. */
export const CRON_CHARS_MAX = 100;

/** Maximum characters of a time zone's name. */
const TZ_CHARS_MAX = 64;

/** Seconds of the shortest grace that a default is. */
const GRACE_DEFAULT_MIN = 60;

/** Fraction of the gap that a default grace is. */
const GRACE_DEFAULT_PART = 0.2;

/** Maximum milliseconds, and fraction of the gap, by which an arrival may precede its slot. */
const EARLY_MS_MAX = 60_000, EARLY_PART = 0.1;

const NICKNAME = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/i;
const FIELDS = /^[\dA-Za-z*?,/#+-]+(?: +[\dA-Za-z*?,/#+-]+){4,5}$/;
const ZONE = /^[A-Za-z][\w+/-]*$/;

/** Instant from which an expression is checked: the five years after it have a leap day. */
const CHECKED_FROM_MS = Date.UTC(2026, 0, 1);

/** Milliseconds in which an expression needs a slot: 5 years with 2 leap days. */
const SLOT_WITHIN_MS = 1_827 * 86_400_000;

/** Slots that are checked for their distance: two of one minute are next to each other. */
const SLOTS_CHECKED = 4;

/** Maximum parsed expressions that are kept. */
const PARSED_MAX = 1_000;

/** Parsed expressions by time zone and expression, least recently used first. */
const parsed = new Map<string, Cron>();

/** Returns why a schedule is invalid, completing "must be …"; null if it is valid. */
export function scheduleProblem(schedule: Schedule): string | null {
  if (!("cron" in schedule)) {
    const { everySeconds } = schedule;
    const isValid = Number.isSafeInteger(everySeconds) && everySeconds >= EVERY_SECONDS.min &&
      everySeconds <= EVERY_SECONDS.max;
    return isValid ? null : `an integer from ${EVERY_SECONDS.min} to ${EVERY_SECONDS.max} seconds`;
  }
  return cronProblem(schedule.cron) ?? zoneProblem(schedule.tz) ?? slotProblem(schedule);
}

/** Returns why a text is no time zone, completing "must be …"; null if it is one. */
export function zoneProblem(tz: string): string | null {
  const problem = "an IANA time zone such as Europe/Berlin";
  if (tz.length > TZ_CHARS_MAX || !ZONE.test(tz)) return problem;
  try {
    new Intl.DateTimeFormat("en", { timeZone: tz });
    return null;
  } catch {
    return problem;
  }
}

/** Returns why a text is no cron expression. Its slots are checked by {@link slotProblem}. */
function cronProblem(cron: string): string | null {
  if (cron.length > CRON_CHARS_MAX) {
    return `a cron expression of at most ${CRON_CHARS_MAX} characters`;
  }
  if (NICKNAME.test(cron)) return null;
  const problem =
    "a cron expression of 5 or 6 fields such as 0 2 * * *, or a nickname such as @daily";
  if (!FIELDS.test(cron)) return problem;
  try {
    cronOf({ cron, tz: "UTC" });
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : "";
    return `${problem} (${reason.slice(0, 200)})`;
  }
}

function slotProblem(schedule: CronSchedule): string | null {
  let last: number | null = null;
  for (let i = 0; i < SLOTS_CHECKED; i++) {
    const slot = slotAfter(schedule, last ?? CHECKED_FROM_MS);
    if (slot === null || slot - CHECKED_FROM_MS > SLOT_WITHIN_MS) {
      return i > 0 ? null : "a cron expression with a slot within 5 years";
    }
    if (last !== null && slot - last < EVERY_SECONDS.min * 1_000) {
      return `a cron expression whose slots are at least ${EVERY_SECONDS.min} s apart`;
    }
    last = slot;
  }
  return null;
}

/**
 * Returns the instant at which the next run is expected after an arrival.
 *
 * An arrival shortly before a slot belongs to the slot, so the next one is expected.
 *
 * @param arrivalMs unix milliseconds
 * @returns unix milliseconds, at most about 5 years later
 */
export function expectedAfter(schedule: Schedule, arrivalMs: number): number {
  if (!("cron" in schedule)) return arrivalMs + schedule.everySeconds * 1_000;
  const slot = laterSlot(schedule, arrivalMs);
  if (slot - arrivalMs > EARLY_MS_MAX) return slot;
  const next = laterSlot(schedule, slot);
  const early = Math.min(EARLY_MS_MAX, (next - slot) * EARLY_PART);
  return slot - arrivalMs <= early ? next : slot;
}

/**
 * Returns whether {@link expectedAfter} is the same for a later arrival, so that the schedule need
 * not be evaluated again.
 *
 * @param expectedMs instant that was expected after an earlier arrival
 * @param arrivalMs the later arrival
 */
export function isStillExpected(
  schedule: Schedule,
  expectedMs: number,
  arrivalMs: number,
): boolean {
  return "cron" in schedule && arrivalMs < expectedMs - EARLY_MS_MAX;
}

/** Returns expected instants, of which `expectedAt` is the first, if each run comes in time. */
export function nextSlots(schedule: Schedule, expectedAt: number, count: number): number[] {
  const slots: number[] = [];
  let slot = expectedAt;
  while (slots.length < count) {
    slots.push(slot);
    slot = "cron" in schedule ? laterSlot(schedule, slot) : expectedAfter(schedule, slot);
  }
  return slots;
}

/** Returns the seconds of grace that a schedule has by default: a fifth of its gap. */
export function defaultGraceSeconds(schedule: Schedule): number {
  return Math.max(GRACE_DEFAULT_MIN, Math.ceil(gapSeconds(schedule) * GRACE_DEFAULT_PART));
}

/** Returns the seconds between two expected runs; the shortest of the next slots of a cron line. */
export function gapSeconds(schedule: Schedule): number {
  if (!("cron" in schedule)) return schedule.everySeconds;
  const slots = nextSlots(schedule, laterSlot(schedule, CHECKED_FROM_MS), SLOTS_CHECKED);
  const gaps = slots.slice(1).map((slot, i) => slot - (slots[i] ?? 0));
  return Math.min(EVERY_SECONDS.max, Math.floor(Math.min(...gaps) / 1_000));
}

/** Returns a schedule in words, such as "At 02:00 AM" or "Every 90 minutes". */
export function scheduleWords(schedule: Schedule): string {
  if (!("cron" in schedule)) return `Every ${periodWords(schedule.everySeconds)}`;
  try {
    return cronstrue.toString(schedule.cron);
  } catch {
    // The two libraries differ on rare expressions, such as those with a plus sign.
    return schedule.cron;
  }
}

/** Units of periods in words, largest first, with their seconds. */
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

/** Returns seconds in words, in the largest unit of which they are a multiple. */
function periodWords(seconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => seconds % size === 0) ?? ["second", 1];
  const count = seconds / size;
  return count === 1 ? unit : `${count} ${unit}s`;
}

/** Returns the slot after an instant; an instant 5 years later if the next one is beyond. */
function laterSlot(schedule: CronSchedule, afterMs: number): number {
  return slotAfter(schedule, afterMs) ?? afterMs + SLOT_WITHIN_MS;
}

function slotAfter(schedule: CronSchedule, afterMs: number): number | null {
  return cronOf(schedule).nextRun(new Date(afterMs))?.getTime() ?? null;
}

/** Returns the parsed expression; throws if it is invalid. */
function cronOf({ cron, tz }: CronSchedule): Cron {
  const key = `${tz} ${cron}`;
  const known = parsed.get(key);
  const job = known ?? new Cron(cron, { timezone: tz, mode: "5-or-6-parts", paused: true });
  if (known !== undefined) parsed.delete(key);
  else if (parsed.size >= PARSED_MAX) parsed.delete(parsed.keys().next().value as string);
  parsed.set(key, job);
  return job;
}
