/** `/dashboard`: how today goes. */
import type { AppDeps, Handle } from "../context.ts";
import { showPage } from "./frame/reply.tsx";

/** Shows the first page. */
export function showOverview(_deps: AppDeps): Handle {
  return (c) => showPage(c, { title: "Overview", body: <p>Nothing yet.</p> });
}
