/** Where the pages of teams are. */
import { DASHBOARD, queryText } from "../frame/paths.ts";

/** The reader's own team. */
export const TEAM = `${DASHBOARD}/team`;

/** All teams, for the operator. */
export const TEAMS = `${DASHBOARD}/teams`;

/** What is asked for before it is done. */
export type Confirm = "suspend" | "resume";

/** One team, for the operator, with what is to be confirmed there. */
export function teamPath(id: string, confirm: Confirm | null = null): string {
  return `${TEAMS}/${encodeURIComponent(id)}${queryText([["confirm", confirm]])}`;
}
