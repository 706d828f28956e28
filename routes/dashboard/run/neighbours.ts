/** The runs before and after a run in the list that its reader came from. */
import { Overloaded } from "../../../domain/core/errors.ts";
import type { RunListPage } from "../../../domain/runs/list.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { runsCursorText } from "../../api/runs/run_list.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { formatCount } from "../components/format.ts";
import { RUNS_PATH } from "../layout/paths.ts";
import { ListQuery, parseListQuery, PRESETS } from "../runs/query.ts";
import { lineOf } from "./event_preview.ts";
import { tracePath } from "./paths.ts";

/** Maximum characters of a list's query in a link. */
const LIST_CHARS_MAX = 1_000;

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
  id: RunId,
  list: string | null,
) {
  if (list === null) return null;
  const request = parseListQuery(list, environment.now());
  if (!request.ok) return null;
  const { query, after, limit, isWindowDefault } = request.value;
  const { rows, next } = await runList.page(team, query, after, limit).catch(noPage);
  const at = rows.findIndex((row) => row.id === id);
  const pathOf = (row: { readonly id: RunId } | undefined, list: string) =>
    row === undefined ? null : tracePath(row.id, { list });
  // The next run may be on the next page of the list.
  const isLast = at === rows.length - 1 && next !== null;
  const further = new URLSearchParams(list);
  if (isLast) further.set("cursor", runsCursorText(next, isWindowDefault ? query.from : null));
  const nextPage = isLast ? await runList.page(team, query, next, 1).catch(noPage) : null;
  const following = nextPage === null ? rows[at + 1] : nextPage.rows[0];
  // The length of a list is known only where it ends.
  const count = formatCount(rows.length);
  const all = after !== null ? `${count} on the page` : next === null ? count : `${count}+`;
  return {
    /** Name of the filter of the list, such as `Failed`, and its path. */
    name: nameOf(list),
    path: RUNS_PATH + (list === "" ? "" : `?${list}`),
    /** Place on the page of the list; null if the run is no longer on it, nor its neighbours. */
    place: at < 0 ? null : `${formatCount(at + 1)} of ${all}`,
    previous: pathOf(rows[at - 1], list),
    next: at < 0 ? null : pathOf(following, isLast ? `${further}` : list),
  };
}

/** A run has no neighbours while too many searches wait to find them (R45). */
function noPage(error: unknown): RunListPage {
  if (error instanceof Overloaded) return { rows: [], next: null, searchedTo: null };
  throw error;
}

/** Parameters of a list that do not filter it by a value that names it. */
const NAMELESS = /^(?:cursor|limit|from|to|since|root|open)$/;

/** Maximum characters of a list's name. */
const NAME_CHARS = 60;

/** Returns the preset of a list, else the values that it is filtered by. */
function nameOf(list: string): string {
  const query = new ListQuery(list);
  const preset = query.isOnlyPreset && PRESETS.find((preset) => query.isPreset(preset));
  if (preset) return preset.name === "All" ? "All runs" : preset.name;
  const values = [...query].filter(([key]) => !NAMELESS.test(key)).map(([, value]) => value);
  const name = lineOf(values.join(", "), NAME_CHARS);
  return name.charAt(0).toUpperCase() + name.slice(1);
}
