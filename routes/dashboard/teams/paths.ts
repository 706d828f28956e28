/** Where the pages of teams are. */
import { queryText, TEAMS } from "../layout/paths.ts";

/** What is asked for before it is done. */
export type Confirm = "suspend" | "resume";

/** One team, for the operator, with what is to be confirmed there. */
export function teamPath(id: string, confirm: Confirm | null = null): string {
  return `${TEAMS}/${encodeURIComponent(id)}${queryText([["confirm", confirm]])}`;
}
