/** Paths of the pages of teams. */
import { queryText, TEAMS_PATH } from "../layout/paths.ts";

/** Changes that ask for confirmation. */
export type TeamConfirmation = "suspend" | "resume";

/** The page of one team, for the operator, with the form for a change of it. */
export function teamPath(id: string, confirm: TeamConfirmation | null = null): string {
  return `${TEAMS_PATH}/${encodeURIComponent(id)}${queryText([["confirm", confirm]])}`;
}
