/** Pages with a form. */
import type { Problem } from "../../../domain/core/errors.ts";
import type { RequestContext } from "../../http/context.ts";
import type { View } from "../layout/page.ts";
import { showPage } from "../layout/reply.tsx";

/** Shows the form as typed for every error of the request, with the reason. */
export function showFormOnProblem(c: RequestContext, view: (problem: Problem) => View): void {
  c.set(
    "renderProblem",
    (c, problem, headers) => showPage(c, { ...view(problem), problem }, headers),
  );
}
