/** Days and shares of spend as people read them. */
import type { Picodollars } from "../../../domain/pricing/money.ts";

const short = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });
const withYear = new Intl.DateTimeFormat("en", {
  month: "short",
  day: "numeric",
  year: "numeric",
  timeZone: "UTC",
});
const monthly = new Intl.DateTimeFormat("en", {
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

/** A UTC day, `YYYY-MM-DD`, short: `Nov 3`. */
export function dayText(day: string): string {
  return short.format(Date.parse(day));
}

/** A month, `YYYY-MM`: `Nov 2026`. */
export function monthText(month: string): string {
  return monthly.format(Date.parse(`${month}-01`));
}

/** When all of it was: `on Nov 3, 2026`, `from Nov 1 to Nov 3, 2026`. */
export function daySpan(from: string, to: string): string {
  const last = withYear.format(Date.parse(to));
  if (from === to) return `on ${last}`;
  const sameYear = from.slice(0, 4) === to.slice(0, 4);
  return `from ${(sameYear ? short : withYear).format(Date.parse(from))} to ${last}`;
}

/** Steps of a share that is divided as an integer. */
const STEPS = 10_000;

/** A part of an amount, 0 to 1; 0 of nothing. */
export function percentOf(part: Picodollars, all: Picodollars): number {
  if (all <= 0n || part <= 0n) return 0;
  return part === all ? 1 : Number((part * BigInt(STEPS)) / all) / STEPS;
}
