/** Formats days, names and shares of spend. */
const short = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });
const withYear = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const monthly = new Intl.DateTimeFormat("en", { month: "short", year: "numeric", timeZone: "UTC" });

/** Formats a UTC day, `YYYY-MM-DD`, briefly: `Nov 3`. */
export function dayText(day: string): string {
  return short.format(Date.parse(day));
}

/** Formats a month, `YYYY-MM`: `Nov 2026`. */
export function monthText(month: string): string {
  return monthly.format(Date.parse(`${month}-01`));
}

/** Formats a period: `on Nov 3, 2026`, `from Nov 1 to Nov 3, 2026`. */
export function daySpan(from: string, to: string): string {
  const last = withYear.format(Date.parse(to));
  if (from === to) return `on ${last}`;
  const sameYear = from.slice(0, 4) === to.slice(0, 4);
  return `from ${(sameYear ? short : withYear).format(Date.parse(from))} to ${last}`;
}

/** Cuts a name to a maximum length. */
export function shortName(name: string, charsMax: number): string {
  return name.length > charsMax ? `${name.slice(0, charsMax - 1)}…` : name;
}

export function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
