/** Paths of the pages of teams. */
import { queryText, TEAMS_PATH } from "../layout/paths.ts";

/** Changes that ask for confirmation. */
export type TeamConfirmation = "suspend" | "resume";

/** Path of the operator's page of one team, optionally with the form for a change. */
export function teamPath(id: string, confirm: TeamConfirmation | null = null): string {
  return `${TEAMS_PATH}/${encodeURIComponent(id)}${queryText([["confirm", confirm]])}`;
}
