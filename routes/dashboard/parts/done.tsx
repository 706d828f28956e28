/** What a form did, told by the page that one is sent to afterwards. */
import type { RequestContext } from "../../context.ts";
import { Notice } from "./basics.tsx";

/** Behind the path of a page that is to say that a form was saved. */
export const SAVED = "?done=saved";

/** Says so; a query cannot make it say anything else. */
export function Done({ c }: { readonly c: RequestContext }) {
  return c.req.query("done") === "saved"
    ? (
      <Notice kind="good">
        <p>Saved.</p>
      </Notice>
    )
    : null;
}
