/**
 * Instants as unix milliseconds, and the one text form the service writes (decision 12).
 *
 * @module
 */

const FORM = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
const PLUS = 43, MINUS = 45;
const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const DAY_MS = 86_400_000;
const LAST_DAY = Date.UTC(9999, 11, 31) / DAY_MS;

/** `00` to `99`. */
const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, "0"));

/** Cache of the last day read or written, with its text up to the `T`; the next day is usually the same. */
let lastDay = Number.NaN;
let lastDate = "";

/**
 * Parses an instant; returns `null` for an invalid text.
 *
 * Accepts any offset of RFC 3339, lower-case `t` and `z` (R19), and any fraction, truncated to the
 * millisecond. Rejects days that do not exist, such as 30 February, and UTC years outside 1970 to 9999.
 */
export function parseInstant(text: string): number | null {
  return parseOnLastDay(text) ?? parseAny(text);
}

/** Formats an instant like {@link formatInstant}; returns null for none. */
export function formatInstantOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : formatInstant(ms);
}

/** Formats an instant as `YYYY-MM-DDTHH:MM:SS.sssZ`. */
export function formatInstant(ms: number): string {
  const date = dateOf(ms);
  const inDay = ms - lastDay * DAY_MS;
  const millis = inDay % 1_000;
  const seconds = (inDay - millis) / 1_000;
  const hour = TWO_DIGITS[Math.floor(seconds / 3_600)];
  const minute = TWO_DIGITS[Math.floor(seconds / 60) % 60];
  const tenths = Math.floor(millis / 100);
  return `${date}${hour}:${minute}:${TWO_DIGITS[seconds % 60]}.${tenths}${
    TWO_DIGITS[millis % 100]
  }Z`;
}

/** Returns the UTC calendar month of an instant, `YYYY-MM`; usage is counted per month (decision 35). */
export function monthOf(ms: number): string {
  return dateOf(ms).slice(0, 7);
}

/** Returns the UTC day of an instant, `YYYY-MM-DD`. */
export function dayOf(ms: number): string {
  return dateOf(ms).slice(0, 10);
}

/** Returns the day of an instant as text including the `T`, and caches it as the last day. */
function dateOf(ms: number): string {
  const day = Math.floor(ms / DAY_MS);
  // The runtime's formatting takes ten times as long, and every response has two or three instants.
  if (day !== lastDay) [lastDay, lastDate] = [day, new Date(ms).toISOString().slice(0, 11)];
  return lastDate;
}

/** Fast path for an instant of the last day in the most common form; `null` means "use the slow path". */
function parseOnLastDay(text: string): number | null {
  const plain = text.length === 24 && text[13] === ":" && text[16] === ":" && text[19] === "." &&
    text[23] === "Z" && text.slice(0, 11) === lastDate;
  // Formatting accepts days that parsing rejects.
  if (!plain || lastDay < 0 || lastDay > LAST_DAY) return null;
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  const hundredths = twoDigits(text, 20);
  const last = text.charCodeAt(22) - 48;
  const exists = hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 &&
    second <= 59 && hundredths >= 0 && last >= 0 && last <= 9;
  if (!exists) return null;
  return lastDay * DAY_MS + hour * 3_600_000 + minute * 60_000 + second * 1_000 + hundredths * 10 +
    last;
}

function parseAny(text: string): number | null {
  if (!FORM.test(text)) return null;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 2);
  const day = digits(text, 8, 2);
  const hour = digits(text, 11, 2);
  const minute = digits(text, 14, 2);
  const second = digits(text, 17, 2);
  const offset = offsetOf(text);
  const exists = offset !== null && month >= 1 && month <= 12 && day >= 1 &&
    day <= daysOf(year, month) && hour <= 23 && minute <= 59 && second <= 59;
  if (!exists) return null;
  const ms = Date.UTC(year, month - 1, day, hour, minute, second, millisOf(text)) - offset;
  // An offset may move an instant into the year before or after its own.
  if (year < 1969 || ms < 0 || ms >= (LAST_DAY + 1) * DAY_MS) return null;
  dateOf(ms);
  return ms;
}

/** Returns the milliseconds that a zone is ahead of UTC; null for an invalid offset. */
function offsetOf(text: string): number | null {
  const sign = text.charCodeAt(text.length - 6);
  if (sign !== PLUS && sign !== MINUS) return 0;
  const hours = digits(text, text.length - 5, 2);
  const minutes = digits(text, text.length - 2, 2);
  if (hours > 23 || minutes > 59) return null;
  return (sign === PLUS ? 1 : -1) * (hours * 60 + minutes) * 60_000;
}

function daysOf(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && leap ? 29 : DAYS_OF_MONTH[month - 1] ?? 0;
}

/** Returns the first three digits of the fraction; missing ones are zeros. */
function millisOf(text: string): number {
  if (text[19] !== ".") return 0;
  const [fraction = ""] = text.slice(20, 23).split(/\D/);
  return Number(fraction.padEnd(3, "0"));
}

/** Reads two decimal digits; returns -1 for anything else. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

/** Reads `count` decimal digits; the pattern guarantees that they are there. */
function digits(text: string, at: number, count: number): number {
  let number = 0;
  for (let i = at; i < at + count; i++) number = number * 10 + text.charCodeAt(i) - 48;
  return number;
}
