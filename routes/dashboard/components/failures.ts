/** The latest runs that failed or timed out. */
import type { Team } from "../../../domain/teams/team.ts";
import type { RunListRow, RunsQuery } from "../../../domain/runs/list.ts";
import type { AppDeps } from "../../http/context.ts";

/** Statuses that count as a failure. */
export const FAILURES = ["failed", "timeout"] as const;

/** Reads the latest failures that match a query, newest first. */
export async function readFailures(
  runList: AppDeps["runList"],
  team: Team,
  query: RunsQuery,
  limit: number,
): Promise<readonly RunListRow[]> {
  return (await runList.page(team, { ...query, status: FAILURES }, null, limit)).rows;
}
