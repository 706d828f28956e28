/** The runs before and after a run in the list that its reader came from. */
import type { Team } from "../../../domain/teams/team.ts";
import { parseRunsQuery } from "../../../domain/runs/list_query.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { parseRunsCursor } from "../../api/runs/run_list.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { RUNS_PATH } from "../layout/paths.ts";

/** Maximum characters of a list's query in a link. */
const LIST_CHARS_MAX = 1_000;

/** A run's place in its list. */
export interface Neighbours {
  /** Path of the list. */
  readonly path: string;
  readonly previous: RunId | null;
  readonly next: RunId | null;
}

/**
 * Returns the query of the list that a reader came from: as a link has it, else that of the list
 * that the browser names as the page before.
 */
export function listOf(c: RequestContext): string | null {
  const { list } = c.req.query();
  if (list !== undefined) return list.slice(0, LIST_CHARS_MAX);
  const referrer = URL.parse(c.req.header("referer") ?? "");
  if (referrer?.pathname !== RUNS_PATH) return null;
  const query = new URLSearchParams(referrer.search);
  query.delete("live");
  query.delete("seen");
  return query.toString().slice(0, LIST_CHARS_MAX);
}

/** Finds the neighbours of a run on the page of its list; null without a list. */
export async function findNeighbours(
  { runList, environment }: AppDeps,
  team: Team,
  run: Pick<RunListRow, "id">,
  list: string | null,
): Promise<Neighbours | null> {
  if (list === null) return null;
  const request = parseRunsQuery(list, environment.now(), parseRunsCursor);
  if (!request.ok) return null;
  const { query, after, limit } = request.value;
  const path = RUNS_PATH + (list === "" ? "" : `?${list}`);
  const { rows, next } = await runList.page(team, query, after, limit);
  const at = rows.findIndex(({ id }) => id === run.id);
  if (at < 0) return { path, previous: null, next: null };
  const following = rows[at + 1]?.id ??
    (next === null ? null : (await runList.page(team, query, next, 1)).rows[0]?.id ?? null);
  return { path, previous: rows[at - 1]?.id ?? null, next: following };
}
