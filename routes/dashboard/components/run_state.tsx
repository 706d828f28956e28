/** The status of a run that may be open for too long. */
import { useContext } from "hono/jsx";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { Status } from "./elements.tsx";
import { durationText } from "./format.ts";
import { Icon } from "./icons.tsx";
import { TimeContext } from "./time.tsx";

/** Time after which an open run counts as stuck. */
export const STUCK_MS = 86_400_000;

type Times = Pick<RunListRow, "status" | "startedAt" | "receivedAt">;

/** Returns for how long a run is open if that is too long, milliseconds; else null. */
function stuckForMs({ status, startedAt, receivedAt }: Times, now: number): number | null {
  const openMs = now - (startedAt ?? receivedAt);
  return status === "running" && openMs > STUCK_MS ? openMs : null;
}

/**
 * The status of a run; a stuck one has the icon and the colour of what is late. With `isIcon` its word
 * is for screen readers only.
 */
export function RunState(
  { run, isIcon = false }: { readonly run: Times; readonly isIcon?: boolean },
) {
  const { nowMs } = useContext(TimeContext);
  const stuckMs = stuckForMs(run, nowMs);
  if (stuckMs === null) return <Status of={run.status} isIcon={isIcon} />;
  return (
    <span class="st st-late" title={`Open for ${durationText(stuckMs)}`}>
      <Icon name="late" />
      <span class={isIcon ? "sr" : undefined}>stuck</span>
    </span>
  );
}
