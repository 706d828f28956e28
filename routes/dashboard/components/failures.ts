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
): Promise<RunListRow[]> {
  const pages = await Promise.all(
    FAILURES.map((status) => runList.page(team, { ...query, status }, null, limit)),
  );
  return pages.flatMap(({ rows }) => rows)
    .sort((a, b) => (b.startedAt ?? b.receivedAt) - (a.startedAt ?? a.receivedAt))
    .slice(0, limit);
}
