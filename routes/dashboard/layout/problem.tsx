/** Error pages: the message, and the next step. */
import { ERRORS } from "../../../domain/core/errors.ts";
import type { Refuse } from "../../http/context.ts";
import { DASHBOARD_PATH } from "./paths.ts";
import { showPage } from "./reply.tsx";

/** Renders an error as a page, with the status that the API would return. */
export const renderProblemPage: Refuse = (c, { code, message }, headers) => {
  const { status, retry } = ERRORS[code];
  return showPage(c, {
    title: status === 404 ? "Not found" : "That did not work",
    status,
    body: (
      <section class="empty">
        <p>{message}.</p>
        <p>
          {retry ? <a href="">Try again</a> : null} <a href={DASHBOARD_PATH}>Go to the overview</a>
        </p>
        <p class="soft">
          <code>{code}</code> · request <code>{c.get("requestId")}</code>
        </p>
      </section>
    ),
  }, headers);
};
