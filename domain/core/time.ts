/**
 * Instants as unix milliseconds, and the one text form the service writes (decision 12).
 *
 * @module
 */

/** Date, time, the first three digits of the fraction, and the offset unless it is Z. */
const FORM =
  /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,3})\d*)?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** Milliseconds of a minute. */
const MINUTE_MS = 60_000;

/** Milliseconds of an hour. */
export const HOUR_MS = 3_600_000;

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000;

/** First instant after the year 9999. */
const END_MS = Date.UTC(10_000, 0, 1);

/** `00` to `99`. */
const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, "0"));

/** Days of a common year before each month, and all of them. */
const DAYS_BEFORE = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/** Leap days before 1970. */
const LEAP_DAYS_BEFORE_1970 = 477;

/** Years of the calendar's cycle, its days, and the days from 1 March of year 0 to 1 January 1970. */
const CYCLE_YEARS = 400, CYCLE_DAYS = 146_097, DAYS_TO_1970 = 719_468;

/**
 * Parses an instant; returns `null` for an invalid text.
 *
 * Accepts any offset of RFC 3339, lower-case `t` and `z` (R19), and any fraction, truncated to the
 * millisecond. Rejects days that do not exist, such as 30 February, and UTC years outside 1970 to 9999.
 */
export function parseInstant(text: string): number | null {
  const ms = parseUtc(text) ?? parseOffset(text);
  return ms !== null && ms >= 0 && ms < END_MS ? ms : null;
}

/** Formats an instant like {@link formatInstant}; returns null for none. */
export function formatInstantOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : formatInstant(ms);
}

/** Formats an instant as `YYYY-MM-DDTHH:MM:SS.sssZ`. */
export function formatInstant(ms: number): string {
  const inDay = ms - Math.floor(ms / DAY_MS) * DAY_MS;
  const millis = inDay % 1_000;
  const seconds = (inDay - millis) / 1_000;
  const hour = TWO_DIGITS[Math.floor(seconds / 3_600)];
  const minute = TWO_DIGITS[Math.floor(seconds / 60) % 60];
  const tenths = Math.floor(millis / 100);
  return `${dayOf(ms)}T${hour}:${minute}:${TWO_DIGITS[seconds % 60]}.${tenths}${
    TWO_DIGITS[millis % 100]
  }Z`;
}

/** Returns the UTC calendar month of an instant, `YYYY-MM`; usage is counted per month (decision 35). */
export function monthOf(ms: number): string {
  return dayOf(ms).slice(0, 7);
}

/**
 * Returns the UTC day of an instant, `YYYY-MM-DD`. Every response has two or three instants, and the
 * runtime's formatting takes five times as long.
 */
export function dayOf(ms: number): string {
  // A year that begins in March ends with its leap day, so the days before a month are regular.
  const days = Math.floor(ms / DAY_MS) + DAYS_TO_1970;
  const cycle = Math.floor(days / CYCLE_DAYS);
  const ofCycle = days - cycle * CYCLE_DAYS;
  const leapDays = (ofCycle / 1_460 | 0) - (ofCycle / 36_524 | 0) + (ofCycle / 146_096 | 0);
  const yearOfCycle = (ofCycle - leapDays) / 365 | 0;
  const ofYear = ofCycle - (365 * yearOfCycle + (yearOfCycle >> 2) - (yearOfCycle / 100 | 0));
  const fromMarch = (5 * ofYear + 2) / 153 | 0;
  const day = ofYear - ((153 * fromMarch + 2) / 5 | 0) + 1;
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const year = yearOfCycle + cycle * CYCLE_YEARS + (month <= 2 ? 1 : 0);
  return `${TWO_DIGITS[year / 100 | 0]}${TWO_DIGITS[year % 100]}-${TWO_DIGITS[month]}-${
    TWO_DIGITS[day]
  }`;
}

/** Parses the form that {@link formatInstant} writes, of the years 0 to 9999; `null` for any other. */
function parseUtc(text: string): number | null {
  const isForm = text.length === 24 && text[4] === "-" && text[7] === "-" && text[10] === "T" &&
    text[13] === ":" && text[16] === ":" && text[19] === "." && text[23] === "Z";
  if (!isForm) return null;
  const century = twoDigits(text, 0), yearOfCentury = twoDigits(text, 2);
  const month = twoDigits(text, 5), day = twoDigits(text, 8);
  const hour = twoDigits(text, 11), minute = twoDigits(text, 14), second = twoDigits(text, 17);
  const hundredths = twoDigits(text, 20), last = text.charCodeAt(22) - 48;
  const year = century * 100 + yearOfCentury;
  const leapDay = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  const before = DAYS_BEFORE[month - 1] ?? 0;
  const daysMax = (DAYS_BEFORE[month] ?? 0) - before + (month === 2 ? leapDay : 0);
  const exists = century >= 0 && yearOfCentury >= 0 && month >= 1 && day >= 1 && day <= daysMax &&
    hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 59 &&
    hundredths >= 0 && last >= 0 && last <= 9;
  if (!exists) return null;
  const past = year - 1;
  const leapDays = (past >> 2) - (past / 100 | 0) + (past / 400 | 0) - LEAP_DAYS_BEFORE_1970;
  const days = 365 * (year - 1970) + leapDays + before + (month > 2 ? leapDay : 0) + day - 1;
  return days * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS + second * 1_000 + hundredths * 10 +
    last;
}

/** Parses any form of RFC 3339. */
function parseOffset(text: string): number | null {
  const form = FORM.exec(text);
  if (form === null) return null;
  const [, date, time, fraction = "", sign, hours = 0, minutes = 0] = form;
  const local = parseUtc(`${date}T${time}.${fraction.padEnd(3, "0")}Z`);
  const offset = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS;
  return local === null ? null : sign === "-" ? local + offset : local - offset;
}

/** Reads two decimal digits; returns -1 for anything else. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}
