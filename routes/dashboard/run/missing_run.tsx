/** The page of a run that the team does not have, and the deletion of one that it has. */
import { ERRORS } from "../../../domain/core/errors.ts";
import { TOMBSTONE_DAYS } from "../../../domain/retention/retention.ts";
import { deleteNamedRun } from "../../api/deletions/deletions.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import type { Refuse } from "../../http/context.ts";
import { ConfirmForm } from "../components/confirm_form.tsx";
import { DELETED } from "../components/elements.tsx";
import { countedText } from "../components/format.ts";
import { runPath, RUNS_PATH } from "../layout/paths.ts";
import { renderProblemPage, seeOther, showPage } from "../layout/reply.tsx";
import type { RunData } from "./run_load.ts";

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
          {name} has no run <code>{c.req.param("id")}</code>. It may be:
        </p>
        <ul>
          <li>mistyped: copy the complete id from where it was sent;</li>
          <li>not here yet: reload once its first call was answered with 202;</li>
          <li>another team's: sign in with a key of that team;</li>
          <li>deleted, or removed by age as the plan says: it does not come back.</li>
        </ul>
        <p>
          <a href={RUNS_PATH}>Look for it among the runs</a>
        </p>
      </section>
    ),
  }, headers);
};

/** Deletes the run and redirects to the list. */
export const submitDeletion: Handler = async (c, deps) => {
  c.set("renderProblem", renderRunNotFound);
  const deleted = await deleteNamedRun(deps, c);
  return deleted.ok ? seeOther(RUNS_PATH + DELETED) : fail(c, deleted.problem);
};

/** Shows what the deletion removes, and asks for confirmation. */
export function ConfirmDeletion({ run: { id, usage } }: Pick<RunData, "run">) {
  return (
    <ConfirmForm
      title="Delete this run?"
      action={`${runPath(id)}/delete`}
      submit="Delete it"
      cancelTo={runPath(id)}
    >
      <p>
        It is deleted with its{" "}
        {countedText(usage.events, "event")}, output and scores, and leaves the spend. This cannot
        be undone. For {TOMBSTONE_DAYS}{" "}
        days its id is refused, so that a client that still sends does not bring it back.
      </p>
    </ConfirmForm>
  );
}
