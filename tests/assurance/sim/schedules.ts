/**
 * Schedules of the model: a period, and the cron lines that sequences use, computed without a
 * library (decisions 108 and 114). Imports nothing from the service.
 */
import type { Fields } from "./shape.ts";

/** A schedule as the API takes it. */
export type Schedule = { readonly every_seconds: number } | CronLine;

interface CronLine {
  readonly cron: string;
  readonly tz: string;
}

const MINUTE_MS = 60_000, HOUR_MS = 3_600_000, DAY_MS = 86_400_000;

/** Milliseconds by which an arrival may precede its slot, at most. */
const EARLY_MS_MAX = 60_000;

/** Lines that a model knows: a minute of each hour, or of one hour a day; `step` in minutes. */
const LINES: Readonly<Record<string, { hour?: number; minute?: number; step?: number }>> = {
  "*/15 * * * *": { step: 15 },
  "0 * * * *": { minute: 0 },
  "30 2 * * *": { hour: 2, minute: 30 },
  "0 12 * * *": { hour: 12, minute: 0 },
};

/** Cron lines and zones that sequences use. */
export const CRON_LINES: readonly CronLine[] = Object.keys(LINES)
  .flatMap((cron) => ["UTC", "Europe/Berlin"].map((tz) => ({ cron, tz })));

/** Returns when the next run is expected after an arrival; an early one is that of its slot. */
export function expectedAfter(schedule: Schedule, arrival: number): number {
  if ("every_seconds" in schedule) return arrival + schedule.every_seconds * 1_000;
  const slot = slotAfter(schedule, arrival);
  const next = slotAfter(schedule, slot);
  return slot - arrival <= Math.min(EARLY_MS_MAX, (next - slot) / 10) ? next : slot;
}

/** Returns the seconds of grace when none is set: a fifth of the gap, a minute at least. */
export function defaultGrace(schedule: Schedule): number {
  const seconds = "every_seconds" in schedule ? schedule.every_seconds : gapMs(schedule) / 1_000;
  return Math.max(60, Math.ceil(seconds / 5));
}

/** Returns the seconds of a duration such as `15m`; null for another text. */
function secondsOf(text: unknown): number | null {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(String(text)) ?? [];
  return count === undefined ? null : Number(count) * { s: 1, m: 60, h: 3_600, d: 86_400 }[unit]!;
}

/** Reads the schedule of a ping, with its grace; null for none, and if any parameter is wrong (R24). */
export function pingSchedule({ every, cron, tz, grace }: Fields): {
  readonly settings: { readonly schedule: Schedule; readonly grace_seconds: number } | null;
  readonly dropped: readonly string[];
} {
  const sent = Object.entries({ every, cron, tz, grace }).filter(([, value]) => isSent(value));
  const schedule = isSent(every) === isSent(cron) || isSent(tz) && !isSent(cron)
    ? null
    : isSent(cron)
    ? lineOf(cron, tz ?? "UTC")
    : periodOf(every);
  const seconds = schedule && (isSent(grace) ? secondsOf(grace) : defaultGrace(schedule));
  if (schedule === null || seconds === null || seconds > 365 * 86_400) {
    return { settings: null, dropped: sent.map(([name]) => name) };
  }
  return { settings: { schedule, grace_seconds: seconds }, dropped: [] };
}

function isSent(value: unknown): boolean {
  return (value ?? "") !== "";
}

function periodOf(every: unknown): Schedule | null {
  const every_seconds = secondsOf(every);
  if (every_seconds === null || every_seconds < 60 || every_seconds > 365 * 86_400) return null;
  return { every_seconds };
}

function lineOf(cron: unknown, tz: unknown): Schedule | null {
  return CRON_LINES.find((line) => line.cron === cron && line.tz === tz) ?? null;
}

function gapMs({ cron }: CronLine): number {
  const { hour, step } = LINES[cron]!;
  return step === undefined ? hour === undefined ? HOUR_MS : DAY_MS : step * MINUTE_MS;
}

function slotAfter({ cron, tz }: CronLine, after: number): number {
  const { hour, minute = 0, step } = LINES[cron]!;
  // The offsets of these zones are full hours.
  if (step !== undefined) return (Math.floor(after / (step * MINUTE_MS)) + 1) * step * MINUTE_MS;
  if (hour === undefined) {
    return (Math.floor((after - minute * MINUTE_MS) / HOUR_MS) + 1) * HOUR_MS + minute * MINUTE_MS;
  }
  const today = Math.floor(after / DAY_MS) * DAY_MS;
  const slots = [-1, 0, 1, 2].map((days) =>
    instantOf(today + days * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS, tz)
  );
  return slots.find((slot) => slot > after)!;
}

/** Returns the instant of a local time: the end of a skipped hour, the first of a repeated one. */
function instantOf(local: number, tz: string): number {
  if (tz === "UTC") return local;
  const [summer, winter] = [local - 2 * HOUR_MS, local - HOUR_MS];
  if (isSummer(summer)) return summer;
  if (!isSummer(winter)) return winter;
  return changeIn(new Date(local).getUTCFullYear(), 2);
}

/** Returns whether clocks of Central Europe are ahead by two hours at an instant. */
function isSummer(at: number): boolean {
  const year = new Date(at).getUTCFullYear();
  return at >= changeIn(year, 2) && at < changeIn(year, 9);
}

/** Returns when the clocks change in a month: 01:00 UTC on its last Sunday. */
function changeIn(year: number, month: number): number {
  const last = Date.UTC(year, month, 31, 1);
  return last - new Date(last).getUTCDay() * DAY_MS;
}
