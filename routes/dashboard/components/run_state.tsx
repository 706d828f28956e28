/** States of runs that pages share. */
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { Failure } from "../run/texts.ts";
import { Sign, Status, TimeContext } from "./elements.tsx";
import { durationText } from "./format.ts";
import { useContext } from "hono/jsx";

/** Time after which an open run counts as stuck. */
export const STUCK_MS = 86_400_000;

/**
 * The status of a run; a stuck one has the icon and the colour of what is late. With `isIcon` its word
 * is for screen readers only.
 */
export function RunState({ run, isIcon = false }: {
  readonly run: Pick<RunListRow, "status" | "startedAt" | "receivedAt">;
  readonly isIcon?: boolean;
}) {
  const { status, startedAt, receivedAt } = run;
  const openMs = useContext(TimeContext).nowMs - (startedAt ?? receivedAt);
  if (status !== "running" || openMs <= STUCK_MS) return <Status of={status} isIcon={isIcon} />;
  return <Sign icon="late" isIcon={isIcon} title={`Open for ${durationText(openMs)}`}>stuck</Sign>;
}

/** Why a run failed and the path to it, on one line; nothing if neither is known. */
export function Why({ status, message, path }: Failure & Pick<RunListRow, "status">) {
  if (message === null && path === "") return null;
  const text = [message, path].filter(Boolean).join(" · ");
  return (
    <p class={status === "timeout" ? "why warn" : "why"} title={text}>
      {message !== null && <span>{message}</span>}
      {path !== "" && <span class="path">{message !== null && " · "}{path}</span>}
    </p>
  );
}

/** Statuses that count as a failure. */
export const FAILURES = ["failed", "timeout"] as const;

type Flag = (RunListRow["flags"] | RunListRow["cost"]["flags"])[number];

/** A flag in words: its name, which the list shows too, and its meaning. */
export type FlagWords = readonly [name: string, meaning: string];

/** Flags of a run and of its cost, and late events: missing parts, then losses, then oddities. */
export const FLAG_WORDS: Readonly<Record<Flag | "late", FlagWords>> = {
  no_opening: ["No opening yet", "agent and start are unknown. Without one, it is kept a week."],
  agent_cap: ["No agent", "the plan's limit of agents is reached."],
  dropped_fields: ["Fields not stored", "unreadable values: see Runledger-Dropped in the answer."],
  ignored_fields: ["Ignored fields", "a call sent fields that it does not know, perhaps misspelt."],
  truncated: ["Cut to a limit", "a text, an event or the output. The run keeps its beginning."],
  unreadable_figures: ["Unreadable numbers", "they count as absent. Their event names them."],
  no_tokens: ["No token counts", "nothing prices a model call without them."],
  twins_undecided: ["Perhaps counted twice", "too many calls to find those that are told twice."],
  batch_rate_missing: ["No batch rate", "the full rate counts for a call in batch mode."],
  late: ["Late events", "they arrived after the run finished. They are included, its cost is new."],
  negative_duration: ["Ends before it starts", "its duration counts as 0."],
  future_start: ["Starts in the future", "more than a day after it arrived, which counts instead."],
  cached_exceeds_input: ["Cached tokens apart", "a call cached more tokens than its input has."],
};
