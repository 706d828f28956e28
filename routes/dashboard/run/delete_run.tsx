/** Deletes a run from its page, after a confirmation. */
import { TOMBSTONE_DAYS } from "../../../domain/retention/retention.ts";
import { fail } from "../../http/answer.ts";
import { deleteNamedRun } from "../../api/deletions/deletions.ts";
import { runPath, RUNS_PATH } from "../layout/paths.ts";
import { seeOther } from "../layout/reply.tsx";
import { DELETED, InlineNotice } from "../components/elements.tsx";
import type { Handler } from "../../http/admission.ts";
import type { LoadedRun } from "./load.ts";
import { renderRunNotFound } from "./not_found.tsx";
import { countedText } from "../components/format.ts";

/** Deletes the run and redirects to the list. */
export const submitDeletion: Handler = async (c, deps) => {
  c.set("renderProblem", renderRunNotFound);
  const deleted = await deleteNamedRun(deps, c);
  return deleted.ok ? seeOther(RUNS_PATH + DELETED) : fail(c, deleted.problem);
};

/** Shows what the deletion removes, and asks for confirmation. */
export function ConfirmDeletion({ run }: LoadedRun) {
  return (
    <InlineNotice kind="bad">
      <h2>Delete this run?</h2>
      <p>
        It is deleted with its{" "}
        {countedText(run.usage.events, "event")}, output and scores, and leaves the spend. This
        cannot be undone. For {TOMBSTONE_DAYS}{" "}
        days its id is refused, so that a client that still sends does not bring it back.
      </p>
      <form method="post" action={`${runPath(run.id)}/delete`} class="choice">
        <button type="submit" class="btn danger">Delete it</button>
        <a href={runPath(run.id)} class="btn">Keep it</a>
      </form>
    </InlineNotice>
  );
}

/** Links to the confirmation, for sessions that may delete runs. */
export function OfferDeletion({ run, isAdmin }: Pick<LoadedRun, "run" | "isAdmin">) {
  return isAdmin ? <a href={`${runPath(run.id)}?confirm=delete`}>Delete this run…</a> : (
    <p>
      Deleting a run takes a key with the scope <code>admin</code>.
    </p>
  );
}
