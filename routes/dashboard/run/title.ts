/** Texts about a run: its title, why it failed, and why it ended if no call closed it. */
import type { RunRecord } from "../../../domain/runs/record.ts";
import { durationText } from "../components/format.ts";
import { lineOf, membersOf, proseLine, reasonIn } from "./event_preview.ts";

/** Maximum characters of a title, and of a reason. */
const TITLE_CHARS = 120, REASON_CHARS = 600;

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

/** Returns why a run failed, in its own words: its note, or the error in its output. */
export function reasonOf({ note, output }: RunRecord): string | null {
  const reason = note ?? (output === null ? null : reasonIn(membersOf(output, "message")));
  return reason === null ? null : lineOf(reason, REASON_CHARS);
}

/** Says after which silence a run was closed; null if a call closed it, or none has. */
export function silenceOf({ closedBy, opening }: RunRecord): string | null {
  if (closedBy !== "idle") return null;
  const { idleTimeoutSeconds } = opening ?? {};
  return idleTimeoutSeconds === undefined
    ? "closed without an event"
    : `closed after ${durationText(idleTimeoutSeconds * 1_000)} without an event`;
}
