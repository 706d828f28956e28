/** A notice on the page that a form redirects to. */
import type { RequestContext } from "../../http/context.ts";
import { InlineNotice } from "./elements.tsx";

/** Path suffixes for a page that confirms a save or a deletion. */
export const SAVED = "?done=saved", DELETED = "?done=deleted";

const NOTICES = new Map([["saved", "Saved."], ["deleted", "Deleted."]]);

/** Shows the notice. The query only selects a fixed text, so a link cannot inject another. */
export function Done({ c }: { readonly c: RequestContext }) {
  const notice = NOTICES.get(c.req.query("done") ?? "");
  return notice === undefined ? null : (
    <InlineNotice kind="good">
      <p>{notice}</p>
    </InlineNotice>
  );
}
