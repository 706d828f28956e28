/** Preferences of a browser: theme, time zone, UTC. Cookies hold them; none of it is a secret. */
import { getCookies, setCookie } from "@std/http";
import { exactText } from "../assets/time.js";
import type { RequestContext } from "../../http/context.ts";

/** Names of the cookies. The script writes them too, so they are readable for it. */
const THEME = "runledger-theme", ZONE = "runledger-zone", TIME = "runledger-time";

export type Preferences = ReturnType<typeof readPreferences>;

/** Reads the preferences of a browser. */
export function readPreferences(c: RequestContext) {
  const cookies = getCookies(c.req.raw.headers);
  return {
    /** Undefined for the theme of the system. */
    theme: (["light", "dark"] as const).find((theme) => theme === cookies[THEME]),
    /** The browser's time zone; null until its script has reported it. */
    zone: zoneOf(cookies[ZONE] ?? ""),
    /** True to show times in UTC. */
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

/** Stores the preferences of a form in the cookies of a response; other fields are ignored. */
export function storePreferences({ headers }: Response, form: URLSearchParams): void {
  for (const [name, value] of [[THEME, form.get("theme")], [TIME, form.get("time")]] as const) {
    if (value === null || !/^[a-z]{1,10}$/.test(value)) continue;
    // The theme of the system is no preference.
    const maxAge = value === "system" ? 0 : 34_560_000;
    setCookie(headers, { name, value, path: "/", sameSite: "Lax", maxAge });
  }
}
