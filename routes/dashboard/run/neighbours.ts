/** The runs before and after a run in the list that its reader came from. */
import type { Team } from "../../../domain/teams/team.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { runsCursorText } from "../../api/runs/run_list.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { RUNS_PATH } from "../layout/paths.ts";
import { isOnlyPreset, isPreset, parseListQuery, PRESETS, readListQuery } from "../runs/query.ts";
import { lineOf } from "./event_preview.ts";

/** Maximum characters of a list's query in a link. */
const LIST_CHARS_MAX = 1_000;

/** A run's place in its list. */
export interface Neighbours {
  /** Path of the list. */
  readonly path: string;
  /** Name of the filter of the list, such as `Failed`. */
  readonly name: string;
  readonly previous: RunId | null;
  readonly next: RunId | null;
  /** Query of the list for the next run: it may be on the next page of the list. */
  readonly nextList: string;
  /** Place on the page of the list; null if the run is no longer on it. */
  readonly place: ListPlace | null;
}

/** A run's place on a page of its list. */
export interface ListPlace {
  /** From 1. */
  readonly at: number;
  /** Number of runs on the page. */
  readonly of: number;
  /** True if the list has further pages. */
  readonly hasMore: boolean;
  /** True if the page is the first of the list. */
  readonly isFirst: boolean;
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
  const request = parseListQuery(list, environment.now());
  if (!request.ok) return null;
  const { query, after, limit, isWindowDefault } = request.value;
  const path = RUNS_PATH + (list === "" ? "" : `?${list}`);
  const { rows, next } = await runList.page(team, query, after, limit);
  const at = rows.findIndex(({ id }) => id === run.id);
  const name = nameOf(list);
  if (at < 0) return { path, name, previous: null, next: null, nextList: list, place: null };
  const place = { at: at + 1, of: rows.length, hasMore: next !== null, isFirst: after === null };
  const neighbours = { path, name, previous: rows[at - 1]?.id ?? null, place };
  const following = rows[at + 1]?.id ?? null;
  if (following !== null || next === null) {
    return { ...neighbours, next: following, nextList: list };
  }
  const further = new URLSearchParams(list);
  further.set("cursor", runsCursorText(next, isWindowDefault ? query.from : null));
  const [first] = (await runList.page(team, query, next, 1)).rows;
  return { ...neighbours, next: first?.id ?? null, nextList: `${further}` };
}

/** Parameters of a list that do not filter it by a value that names it. */
const NAMELESS: ReadonlySet<string> = new Set([
  "cursor",
  "limit",
  "from",
  "to",
  "since",
  "root",
  "open",
  "shown",
]);

/** Maximum characters of a list's name. */
const NAME_CHARS = 60;

/** Returns the preset of a list, else the values that it is filtered by. */
function nameOf(list: string): string {
  const query = readListQuery(list);
  const preset = isOnlyPreset(query) && PRESETS.find((preset) => isPreset(query, preset));
  if (preset) return preset.name === "All" ? "All runs" : preset.name;
  const values = [...query].flatMap(([key, value]) =>
    NAMELESS.has(key) || value === "" ? [] : [value]
  );
  const name = lineOf(values.join(", "), NAME_CHARS);
  return name.charAt(0).toUpperCase() + name.slice(1);
}
