/** What a form did, told by the page that one is sent to afterwards. */
import type { RequestContext } from "../../http/context.ts";
import { InlineNotice } from "./elements.tsx";

/** Behind the path of a page that is to say that a form was saved, or that something is deleted. */
export const SAVED = "?done=saved", DELETED = "?done=deleted";

const TOLD = new Map([["saved", "Saved."], ["deleted", "Deleted."]]);

/** Says so; a query cannot make it say anything else. */
export function Done({ c }: { readonly c: RequestContext }) {
  const told = TOLD.get(c.req.query("done") ?? "");
  return told === undefined ? null : (
    <InlineNotice kind="good">
      <p>{told}</p>
    </InlineNotice>
  );
}
