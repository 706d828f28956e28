/**
 * Instants as unix milliseconds, and the one text form the service writes (decision 12).
 *
 * @module
 */

/** Date, time, the first three digits of the fraction, and the offset unless it is Z. */
const FORM =
  /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,3})\d*)?(?:[Zz]|([+-](?:[01]\d|2[0-3]):[0-5]\d))$/;

/** Milliseconds of an hour. */
export const HOUR_MS = 3_600_000;

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000;

const LAST_DAY = Date.UTC(9999, 11, 31) / DAY_MS;

/** First local time that an offset can move into 1970, unix milliseconds. */
const FIRST_LOCAL_MS = -DAY_MS;

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
  const form = FORM.exec(text);
  if (form === null) return null;
  const [, date, time, fraction = "", offset = "Z"] = form;
  // The runtime accepts 30 February and 24:00, and moves them to the next day.
  const local = Date.parse(`${date}T${time}Z`);
  if (!(local >= FIRST_LOCAL_MS) || !formatInstant(local).startsWith(`${date}T${time}`)) {
    return null;
  }
  const ms = Date.parse(`${date}T${time}.${fraction.padEnd(3, "0")}${offset}`);
  // An offset may move an instant into the year before or after its own.
  if (ms < 0 || ms >= (LAST_DAY + 1) * DAY_MS) return null;
  dateOf(ms);
  return ms;
}

/** Reads two decimal digits; returns -1 for anything else. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}
