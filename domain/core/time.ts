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
 * runtime's own formatting takes several times as long.
 */
export function dayOf(ms: number): string {
  const date = new Date(ms);
  const year = date.getUTCFullYear();
  const month = TWO_DIGITS[date.getUTCMonth() + 1];
  return `${TWO_DIGITS[year / 100 | 0]}${TWO_DIGITS[year % 100]}-${month}-${
    TWO_DIGITS[date.getUTCDate()]
  }`;
}

/** Parses the form that {@link formatInstant} writes, of the years 1900 to 9999; `null` for any other. */
function parseUtc(text: string): number | null {
  const isForm = text.length === 24 && text[4] === "-" && text[7] === "-" && text[10] === "T" &&
    text[13] === ":" && text[16] === ":" && text[19] === "." && text[23] === "Z";
  if (!isForm) return null;
  const century = twoDigits(text, 0), yearOfCentury = twoDigits(text, 2);
  const month = twoDigits(text, 5), day = twoDigits(text, 8);
  const hour = twoDigits(text, 11), minute = twoDigits(text, 14), second = twoDigits(text, 17);
  const hundredths = twoDigits(text, 20), last = text.charCodeAt(22) - 48;
  const isInRange = century >= 19 && yearOfCentury >= 0 && month >= 1 && month <= 12 && day >= 1 &&
    hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 59 &&
    hundredths >= 0 && last >= 0 && last <= 9;
  if (!isInRange) return null;
  const midnight = Date.UTC(century * 100 + yearOfCentury, month - 1, day);
  // The runtime moves 30 February to March.
  if (day > 28 && new Date(midnight).getUTCDate() !== day) return null;
  return midnight + hour * HOUR_MS + minute * MINUTE_MS + second * 1_000 + hundredths * 10 + last;
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

/** Formats a duration in its two largest units, such as `2 h 5 min`. */
export function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const units = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]] as const;
  const first = Math.max(0, units.findIndex(([size]) => seconds >= size));
  let rest = seconds;
  const parts = units.slice(first === 0 && seconds < 1 ? 3 : first).slice(0, 2).flatMap(
    ([size, unit]) => {
      const number = Math.floor(rest / size);
      rest -= number * size;
      return number > 0 ? [`${number} ${unit}`] : [];
    },
  );
  return parts.join(" ") || "0 s";
}
