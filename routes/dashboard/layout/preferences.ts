/** What a browser prefers: theme, time zone, UTC. Cookies hold it; none of it is a secret. */
import { getCookies, setCookie } from "@std/http";
import { exactText } from "../assets/time.js";
import type { RequestContext } from "../../http/context.ts";

/** Names of the cookies. The script writes them too, so they are readable for it. */
const THEME = "runledger-theme", ZONE = "runledger-zone", TIME = "runledger-time";

export const THEMES = ["light", "dark"] as const;

export interface Preferences {
  /** Null for the theme of the system. */
  readonly theme: typeof THEMES[number] | null;
  /** The browser's time zone; null until its script has reported it. */
  readonly zone: string | null;
  /** True to show times in UTC. */
  readonly isUtc: boolean;
}

/** Reads the preferences of a browser. */
export function readPreferences(c: RequestContext): Preferences {
  const cookies = getCookies(c.req.raw.headers);
  return {
    theme: THEMES.find((theme) => theme === cookies[THEME]) ?? null,
    zone: zoneOf(cookies[ZONE] ?? ""),
    isUtc: cookies[TIME] === "utc",
  };
}

/** Returns the zone to format times in. */
export function shownZone({ zone, isUtc }: Preferences): string {
  return isUtc ? "UTC" : zone ?? "UTC";
}

/** Returns a zone that the runtime knows, else null. */
function zoneOf(name: string): string | null {
  if (!/^[A-Za-z0-9_+\-/]{1,40}$/.test(name)) return null;
  try {
    exactText(0, name);
    return name;
  } catch {
    return null;
  }
}

/** Value of a form that removes a preference: the system's theme. */
const NO_PREFERENCE = "system";

/** Stores the preferences of a form in the cookies of a response; other fields are ignored. */
export function storePreferences({ headers }: Response, form: URLSearchParams): void {
  for (const [name, value] of [[THEME, form.get("theme")], [TIME, form.get("time")]] as const) {
    if (value === null || !/^[a-z]{1,10}$/.test(value)) continue;
    const maxAge = value === NO_PREFERENCE ? 0 : 34_560_000;
    setCookie(headers, { name, value, path: "/", sameSite: "Lax", maxAge });
  }
}
