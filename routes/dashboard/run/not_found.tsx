/** The page of a run that the team does not have. */
import { ERRORS } from "../../../domain/core/errors.ts";
import type { Refuse } from "../../http/context.ts";
import { RUNS_PATH } from "../layout/paths.ts";
import { renderProblemPage, showPage } from "../layout/page.tsx";

/** Renders a missing run with suggestions, and other errors as usual. */
export const renderRunNotFound: Refuse = (c, problem, headers) => {
  if (ERRORS[problem.code].status !== 404) return renderProblemPage(c, problem, headers);
  const { name } = c.get("principal").team;
  return showPage(c, {
    title: "No such run",
    status: 404,
    body: (
      <section class="empty">
        <p>
          The team {name} has no run <code>{c.req.param("id")}</code>. It may be:
        </p>
        <ul>
          <li>mistyped: copy the complete id from where it was sent;</li>
          <li>not here yet: reload once its first call was answered with 202;</li>
          <li>another team's: sign in with a key of that team;</li>
          <li>deleted, or removed by age as the plan says: it does not come back.</li>
        </ul>
        <p>
          <a href={RUNS_PATH}>Search the runs</a>
        </p>
      </section>
    ),
  }, headers);
};
