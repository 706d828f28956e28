/** Texts about a run: its title, why it failed, and why it ended if no call closed it. */
import { nameIn } from "../../../domain/runs/lines.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { errorIn } from "../../../domain/runs/run.ts";
import { durationText } from "../components/format.ts";
import { lineOf, membersOf, proseLine, reasonIn } from "./event_preview.ts";

/** Maximum characters of a title, and of a reason. */
const TITLE_CHARS = 120, REASON_CHARS = 600;

/** Returns the title of a run, as lists name it. */
export function titleOf({ run }: { readonly run: RunRecord }): string {
  const { opening, output, closedBy, note } = run;
  const error = closedBy === null ? null : note ?? errorIn(output);
  const name = nameIn({ goal: opening?.goal ?? null, error, output });
  return nameOr(run, name && proseLine(name, TITLE_CHARS));
}

/** Returns the name of a run; without one its agent and its id. */
export function nameOr({ id, agent }: Pick<RunRecord, "id" | "agent">, name?: string | null) {
  return name || (agent === null ? "A run without its opening" : `${agent} ${shortId(id)}`);
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
