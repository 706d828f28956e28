// Formats instants, on the server and in the browser: the same text, so nothing moves.
// Month names are our own, because browsers abbreviate them differently.
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @type {Map<string, Intl.DateTimeFormat>} */
const FORMATS = new Map();

/** Maximum time zones kept, the latest ones: a name has many spellings, and each takes 40 KB. */
const ZONES_MAX = 50;

/**
 * Returns the parts of an instant in a time zone, as texts.
 *
 * @param {number} ms unix milliseconds
 * @param {string} zone IANA name
 */
function partsOf(ms, zone) {
  const part = { year: "numeric", month: "numeric", day: "numeric" };
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
  let format = FORMATS.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en", { ...part, ...time, timeZone: zone });
    if (FORMATS.size >= ZONES_MAX) FORMATS.delete(FORMATS.keys().next().value);
    FORMATS.set(zone, format);
  }
  return Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
}

/**
 * Formats an instant to the minute: `today 12:31`, `yesterday 12:31`, `Nov 9, 12:31`, `Nov 9 2025`.
 *
 * @param {number} ms unix milliseconds
 * @param {number} nowMs the current time, unix milliseconds
 * @param {string} zone IANA name
 * @returns {string}
 */
export function instantText(ms, nowMs, zone) {
  const at = partsOf(ms, zone);
  const now = partsOf(nowMs, zone);
  const days = (Date.UTC(now.year, now.month - 1, now.day) -
    Date.UTC(at.year, at.month - 1, at.day)) / 86_400_000;
  const clock = `${at.hour}:${at.minute}`;
  if (days === 0) return `today ${clock}`;
  if (days === 1) return `yesterday ${clock}`;
  const day = `${MONTHS[at.month - 1]} ${at.day}`;
  return at.year === now.year ? `${day}, ${clock}` : `${day} ${at.year}`;
}

/**
 * Formats an instant exactly: `2026-11-22 12:31:06 Europe/Berlin`.
 *
 * @param {number} ms unix milliseconds
 * @param {string} zone IANA name
 * @returns {string}
 */
export function exactText(ms, zone) {
  const at = partsOf(ms, zone);
  const two = (text) => text.padStart(2, "0");
  return `${at.year}-${two(at.month)}-${two(at.day)} ${at.hour}:${at.minute}:${at.second} ${zone}`;
}
