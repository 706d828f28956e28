/** States of runs that pages share. */
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { Failure } from "../run/texts.ts";
import { Status, TimeContext } from "./elements.tsx";
import { durationText } from "./format.ts";
import { useContext } from "hono/jsx";
import { Icon } from "./icons.tsx";

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
  return (
    <span class="st st-late" title={`Open for ${durationText(openMs)}`}>
      <Icon name="late" />
      <span class={isIcon ? "sr" : undefined}>stuck</span>
    </span>
  );
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
