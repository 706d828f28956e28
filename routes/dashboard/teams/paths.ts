/** Where the pages of teams are. */
import { queryText, TEAMS_PATH } from "../layout/paths.ts";

/** What is asked for before it is done. */
export type TeamConfirmation = "suspend" | "resume";

/** One team, for the operator, with what is to be confirmed there. */
export function teamPath(id: string, confirm: TeamConfirmation | null = null): string {
  return `${TEAMS_PATH}/${encodeURIComponent(id)}${queryText([["confirm", confirm]])}`;
}
