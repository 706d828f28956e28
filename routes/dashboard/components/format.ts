/** Formats numbers, amounts and times. */
import { dollarsText, type Picodollars } from "../../../domain/pricing/money.ts";
import { DAY_MS, durationOf, HOUR_MS } from "../../../domain/core/time.ts";
import type { RequestContext } from "../../http/context.ts";

const integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Formats a count with thousands separators: `12,345`. */
export function formatCount(count: number | bigint): string {
  return integer.format(count);
}

/** Formats a count with its noun: `1 run`, `2 runs`. */
export function countedText(count: number, word: string): string {
  return `${formatCount(count)} ${pluralOf(count, word)}`;
}

/** Returns the noun for a count: `run` for one, else `runs`. */
export function pluralOf(count: number, word: string): string {
  return count === 1 ? word : `${word}s`;
}

/** Begins a text with a capital letter. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Joins texts by commas, at most `max` of them. */
export function listed(texts: readonly string[], max: number): string {
  const more = texts.length - max;
  return texts.slice(0, max).join(", ") + (more > 0 ? ` and ${countedText(more, "other")}` : "");
}

/** Formats a large count briefly: `1.2M`. */
export function compactText(count: number | bigint): string {
  return compact.format(count);
}

/** Formats a share as an integer percentage. Shows 0% and 100% only when exact; may exceed 100%. */
export function percentText(part: number | bigint, all: number | bigint): string {
  const share = Number(part) / Number(all);
  if (!Number.isFinite(share)) return "–";
  const percent = Math.round(share * 100);
  if (share > 0 && percent === 0) return "< 1%";
  return share < 1 && percent === 100 ? "> 99%" : `${percent}%`;
}

/** Decimals of an amount, and its smallest unit in picodollars. */
const PLACES = 4, STEP = 10n ** 8n;

/**
 * Formats an amount in dollars with 4 decimals: `$1,204.5000`, `$0.0082`. An amount that rounds to
 * nothing is `<$0.0001`.
 */
export function moneyText(amount: Picodollars): string {
  const sign = amount < 0n ? "−" : "";
  const size = amount < 0n ? -amount : amount;
  const rounded = ((size + STEP / 2n) / STEP) * STEP;
  if (rounded === 0n && size > 0n) return `${sign}<$0.0001`;
  const [units = "0", decimals = ""] = dollarsText(rounded).split(".");
  return `${sign}$${integer.format(BigInt(units))}.${decimals.padEnd(PLACES, "0")}`;
}

/** Formats an amount in dollars exactly. */
export function exactMoneyText(amount: Picodollars): string {
  return amount < 0n ? `−$${dollarsText(-amount)}` : `$${dollarsText(amount)}`;
}

/** Formats milliseconds in their two largest units: `850 ms`, `1.2 s`, `3 min 4 s`, `2 h 5 min`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 59_950 ? `${(ms / 1_000).toFixed(1).replace(/\.0$/, "")} s` : durationOf(ms);
}

/** Formats the time since or until an instant: `3 min ago`, `in 2 h`. */
export function agoText(ms: number, nowMs: number): string {
  const away = Math.abs(nowMs - ms);
  if (away < 5_000) return "just now";
  const [size, unit] = AGO_UNITS.find(([, , below]) => away < below) ?? [30 * DAY_MS, " months"];
  const text = `${Math.floor(away / size)}${unit}`;
  return ms <= nowMs ? `${text} ago` : `in ${text}`;
}

/** Units of relative times, each with the time from which the next one is used. */
const AGO_UNITS = [
  [1_000, " s", 60_000],
  [60_000, " min", HOUR_MS],
  [HOUR_MS, " h", 2 * DAY_MS],
  [DAY_MS, " days", 60 * DAY_MS],
] as const;

const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });
const month = new Intl.DateTimeFormat("en", { month: "short", year: "numeric", timeZone: "UTC" });
const date = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });

/** Formats a UTC day, `YYYY-MM-DD` or an instant of it, briefly: `Nov 8`. */
export function dayText(at: number | string): string {
  return day.format(new Date(at));
}

/** Formats UTC days, `YYYY-MM-DD`, briefly: `Nov 8`, `Nov 8 to Nov 9`. */
export function daysText(first: string, last: string): string {
  return first === last ? dayText(first) : `${dayText(first)} to ${dayText(last)}`;
}

/** Formats a UTC month, `YYYY-MM` or an instant of it: `Nov 2026`. */
export function monthText(at: number | string): string {
  return month.format(new Date(at));
}

/** Formats a UTC day with its year: `Nov 8, 2026`. */
export function dateText(at: number | string): string {
  return date.format(new Date(at));
}

/** Hosts that browsers trust without TLS. */
const LOOPBACK = /^(localhost|127\.[0-9.]+|\[::1\])$/;

/**
 * Returns the origin as the browser sees it. Browsers send a session cookie only over HTTPS or to
 * the loopback address, so elsewhere a proxy terminates TLS, which the service cannot see.
 */
export function originOf(c: RequestContext): string {
  const { protocol, hostname, host } = new URL(c.req.url);
  return `${LOOPBACK.test(hostname) ? protocol : "https:"}//${host}`;
}
