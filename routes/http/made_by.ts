/** The author of a change, as the audit log names it. */
import type { MadeBy } from "../../domain/teams/made_by.ts";
import type { AppDeps, RequestContext } from "./context.ts";

/** Returns the author of a change that a request makes now. */
export function madeBy(c: RequestContext, { environment }: AppDeps): MadeBy {
  return { by: c.get("principal").credentialId, at: environment.now() };
}
