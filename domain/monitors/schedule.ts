/**
 * Schedules of monitors: a period, or a cron expression in a time zone (decision 108); durations.
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
export type CronSchedule = Extract<Schedule, { readonly cron: string }>;

/** Minimum and maximum seconds of a period; slots are as far apart as the minimum. */
export const EVERY_SECONDS = { min: 60, max: 31_536_000 } as const;

/** Minimum and maximum seconds of a grace. */
export const GRACE_SECONDS = { min: 0, max: 31_536_000 } as const;

/** Maximum characters of a cron expression. */
export const CRON_CHARS_MAX = 100;

/** Maximum characters of a time zone's name. */
export const TZ_CHARS_MAX = 64;

/** Seconds of the shortest grace that a default is. */
const GRACE_DEFAULT_MIN = 60;

/** Fraction of the gap that a default grace is. */
const GRACE_DEFAULT_PART = 0.2;

/** Maximum milliseconds, and fraction of the gap, by which an arrival may precede its slot. */
const EARLY_MS_MAX = 60_000, EARLY_PART = 0.1;

const NICKNAME = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/i;
const FIELDS = /^[\dA-Za-z*?,/#-]+(?: +[\dA-Za-z*?,/#-]+){4,5}$/;
const ZONE = /^[A-Za-z][\w+/-]*$/;

/** Instant from which an expression is checked: the five years after it have a leap day. */
const CHECKED_FROM_MS = Date.UTC(2026, 0, 1);

/** Years in which an expression needs a slot. Without an end, a search for none takes long. */
const YEARS_CHECKED = "2026-2030";

/** Milliseconds until the slot of an expression that has none left: 5 years with 2 leap days. */
const SLOT_WITHIN_MS = 1_827 * 86_400_000;

/** Slots from which the gap of a cron line is derived. */
const GAP_SLOTS = 3;

/** Maximum fields of an expression. */
const FIELDS_MAX = 6;

/** Slots that one evaluation finds: as many as {@link expectedAfter} needs. */
const SLOTS_AHEAD = 2;

/** Returns the first slot of a schedule after an instant; `Infinity` for none. */
export type SlotAfter = (afterMs: number) => number;

/** Returns the slots of a cron line. {@link slotsOf} evaluates it; a process keeps the latest. */
export type CronSlots = (schedule: CronSchedule) => SlotAfter;

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
    parseCron({ cron, tz: "UTC" });
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : "";
    return `${problem} (${reason.slice(0, 200)})`;
  }
}

/** Returns why an expression has too few slots, or too many; null if neither. */
function slotProblem({ cron, tz }: CronSchedule): string | null {
  if (NICKNAME.test(cron)) return null;
  const [seconds = "", ...fields] = cron.split(/ +/);
  const hasSeconds = fields.length === FIELDS_MAX - 1;
  if (hasSeconds && !/^\d+$/.test(seconds)) {
    return `a cron expression whose slots are at least ${EVERY_SECONDS.min} s apart: ` +
      "its first of 6 fields, the second, is one number";
  }
  const inYears = `${hasSeconds ? "" : "0 "}${cron} ${YEARS_CHECKED}`;
  const job = new Cron(inYears, { timezone: tz, mode: "7-part", paused: true });
  return job.nextRun(new Date(CHECKED_FROM_MS)) === null
    ? "a cron expression with a slot within 5 years"
    : null;
}

/**
 * Returns the instant at which the next run is expected after an arrival.
 *
 * An arrival shortly before a slot belongs to the slot, so the next one is expected.
 *
 * @param arrivalMs unix milliseconds
 * @returns unix milliseconds, at most about 5 years later
 */
export function expectedAfter(
  schedule: Schedule,
  arrivalMs: number,
  slots: CronSlots = slotsOf,
): number {
  if (!("cron" in schedule)) return arrivalMs + schedule.everySeconds * 1_000;
  const slotAfter = slots(schedule);
  const slot = laterSlot(slotAfter, arrivalMs);
  if (slot - arrivalMs > EARLY_MS_MAX) return slot;
  const next = laterSlot(slotAfter, slot);
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
  if (!("cron" in schedule)) {
    return Array.from({ length: count }, (_, i) => expectedAt + i * schedule.everySeconds * 1_000);
  }
  const next = parseCron(schedule).nextRuns(count - 1, new Date(expectedAt));
  const slots = [expectedAt, ...next.map((slot) => slot.getTime())];
  while (slots.length < count) slots.push((slots.at(-1) ?? expectedAt) + SLOT_WITHIN_MS);
  return slots;
}

/** Returns the seconds of grace that a schedule has by default: a fifth of its gap. */
export function defaultGraceSeconds(schedule: Schedule): number {
  return Math.max(GRACE_DEFAULT_MIN, Math.ceil(gapSeconds(schedule) * GRACE_DEFAULT_PART));
}

/** Returns the seconds between two expected runs; the shortest of the next slots of a cron line. */
export function gapSeconds(schedule: Schedule): number {
  if (!("cron" in schedule)) return schedule.everySeconds;
  const [, ...slots] = nextSlots(schedule, CHECKED_FROM_MS, GAP_SLOTS + 1);
  const gaps = slots.slice(1).map((slot, i) => slot - (slots[i] ?? 0));
  return Math.min(EVERY_SECONDS.max, Math.floor(Math.min(...gaps) / 1_000));
}

/** Returns a schedule in words, such as "At 02:00" or "Every 90 minutes". */
export function scheduleWords(schedule: Schedule): string {
  if (!("cron" in schedule)) return `Every ${periodWords(schedule.everySeconds)}`;
  try {
    return cronstrue.toString(schedule.cron, { use24HourTimeFormat: true });
  } catch {
    // The two libraries differ on rare expressions.
    return schedule.cron;
  }
}

/** Units of periods, largest first, with their seconds; a duration has their first letters. */
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

/** Returns seconds in words, in the largest unit of which they are a multiple. */
function periodWords(seconds: number): string {
  const [unit, size] = unitOf(seconds);
  const count = seconds / size;
  return count === 1 ? unit : `${count} ${unit}s`;
}

function unitOf(seconds: number): typeof UNITS[number] {
  return UNITS.find(([, size]) => seconds !== 0 && seconds % size === 0) ?? ["second", 1];
}

/** Returns the slot after an instant; an instant 5 years later if there is none. */
function laterSlot(slotAfter: SlotAfter, afterMs: number): number {
  const slot = slotAfter(afterMs);
  return slot === Infinity ? afterMs + SLOT_WITHIN_MS : slot;
}

/**
 * Returns a function that keeps the latest slots of a cron line: an evaluation takes up to
 * milliseconds, and monitors ask for the same slots again and again. It does not keep the parsed line,
 * which takes 80 KB.
 */
export function slotsOf(schedule: CronSchedule): SlotAfter {
  /** An instant and the slots after it, without a gap. */
  let slots: readonly number[] = [];
  return (afterMs) => {
    const [first = Infinity] = slots;
    const known = afterMs < first ? undefined : slots.find((slot) => slot > afterMs);
    if (known !== undefined) return known;
    const next = parseCron(schedule).nextRuns(SLOTS_AHEAD, new Date(afterMs));
    slots = [afterMs, ...next.map((slot) => slot.getTime())];
    if (next.length < SLOTS_AHEAD) slots = [...slots, Infinity];
    return slots[1] ?? Infinity;
  };
}

/** Parses a cron line; throws if it is invalid. */
function parseCron({ cron, tz }: CronSchedule): Cron {
  return new Cron(cron, { timezone: tz, mode: "5-or-6-parts", paused: true });
}

/** A duration; its digits have no exact limit: each use checks its own range. */
const DURATION = /^(\d{1,9})([smhd])$/;

/** Parses a duration such as `15m`; returns its seconds, or null for any other text. */
export function parseDuration(text: string): number | null {
  const [, count = "", unit] = DURATION.exec(text) ?? [];
  const size = UNITS.find(([name]) => name[0] === unit)?.[1];
  return size === undefined ? null : Number(count) * size;
}

/** Formats seconds in the largest unit of which they are a multiple; inverse of {@link parseDuration}. */
export function durationWord(seconds: number): string {
  const [unit, size] = unitOf(seconds);
  return `${seconds / size}${unit[0]}`;
}
