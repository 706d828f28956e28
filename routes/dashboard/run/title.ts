/** The title of a run. */
import type { RunRecord } from "../../../domain/runs/record.ts";
import { proseLine } from "./event_preview.ts";

/** Maximum characters of a title. */
const TITLE_CHARS = 120;

/** Matches a character that can be seen. */
const VISIBLE = /[^\p{C}\p{Z}\p{M}]/u;

/** Returns the title of a run: its goal, else its agent and its id. */
export function titleOf({ run: { id, agent, opening } }: { readonly run: RunRecord }): string {
  const goal = proseLine(opening?.goal ?? "", TITLE_CHARS);
  if (VISIBLE.test(goal)) return goal;
  return agent === null ? "A run without its opening" : `${agent} ${shortId(id)}`;
}

/** Returns the last characters of an id, which differ between runs. */
export function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}
