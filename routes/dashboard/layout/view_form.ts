/** The form that stores the theme and the time zone of a browser; it is in every top bar. */
import type { Handle } from "../../http/context.ts";
import { ownPage } from "./paths.ts";
import { storePreferences } from "./preferences.ts";
import { seeOther } from "./reply.tsx";

/** Stores the preferences in cookies and redirects back to the page that has the form. */
export const submitView: Handle = (c) => {
  const from = URL.parse(c.req.raw.headers.get("referer") ?? "");
  const response = seeOther(ownPage(from && from.pathname + from.search));
  storePreferences(response, c.get("form"));
  return response;
};
