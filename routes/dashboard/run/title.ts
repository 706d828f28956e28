/** The title of a run. */
import type { RunRecord } from "../../../domain/runs/record.ts";
import { lineOf } from "./event_preview.ts";

/** Maximum characters of a title. */
const TITLE_CHARS = 120;

/** Returns the title of a run: its goal, else its agent and its id. */
export function titleOf({ run: { id, agent, opening } }: { readonly run: RunRecord }): string {
  if (opening?.goal) return lineOf(opening.goal, TITLE_CHARS);
  return agent === null ? "A run without its opening" : `${agent} ${shortId(id)}`;
}

/** Returns the last characters of an id, which differ between runs. */
export function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}
