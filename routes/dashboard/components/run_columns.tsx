/** Columns and states that lists of runs share. */
import type { RunListRow } from "../../../domain/runs/list.ts";
import { Money, Status } from "./elements.tsx";
import { durationText } from "./format.ts";
import { type Column, numberColumn } from "./table.tsx";
import { TimeContext } from "./time.tsx";
import { useContext } from "hono/jsx";
import { Icon } from "./icons.tsx";

/** The duration and the cost. */
export const FIGURE_COLUMNS: readonly Column<Pick<RunListRow, "durationMs" | "cost">>[] = [
  {
    head: "Took",
    class: "num",
    before: "took",
    cell: ({ durationMs }) => durationMs === null ? "–" : durationText(durationMs),
  },
  numberColumn("Cost", ({ cost }) => <Money of={cost.amount} />),
];

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

/** Statuses that count as a failure. */
export const FAILURES = ["failed", "timeout"] as const;
