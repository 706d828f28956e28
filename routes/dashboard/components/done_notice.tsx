/** A notice of what a form did, on the page that it redirects to. */
import type { RequestContext } from "../../http/context.ts";
import { InlineNotice } from "./elements.tsx";

/** Added to the path of a page that shows that a form was saved, or that something was deleted. */
export const SAVED = "?done=saved", DELETED = "?done=deleted";

const NOTICES = new Map([["saved", "Saved."], ["deleted", "Deleted."]]);

/** Shows the notice; a query cannot make it show any other text. */
export function Done({ c }: { readonly c: RequestContext }) {
  const notice = NOTICES.get(c.req.query("done") ?? "");
  return notice === undefined ? null : (
    <InlineNotice kind="good">
      <p>{notice}</p>
    </InlineNotice>
  );
}
