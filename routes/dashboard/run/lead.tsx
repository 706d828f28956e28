/** The status of a run next to its title, and why it ended if no call closed it. */
import type { RunRecord } from "../../../domain/runs/record.ts";
import { durationText } from "../components/format.ts";
import { RunState } from "../components/run_columns.tsx";
import { isFailure } from "./steps.ts";

type Run = Pick<RunRecord, "status" | "startedAt" | "receivedAt" | "closedBy" | "opening">;

/** Says after which silence a run was closed; null if a call closed it, or none has. */
export function silenceOf({ closedBy, opening }: Pick<Run, "closedBy" | "opening">): string | null {
  if (closedBy !== "idle") return null;
  const { idleTimeoutSeconds } = opening ?? {};
  return idleTimeoutSeconds === undefined
    ? "closed without an event"
    : `closed after ${durationText(idleTimeoutSeconds * 1_000)} without an event`;
}

/** The failure box says why a failed run ended, so here only others do. */
export function RunLead({ run }: { readonly run: Run }) {
  const silence = isFailure(run.status) ? null : silenceOf(run);
  return (
    <>
      <RunState run={run} />
      {silence !== null && <>{" "}{silence}</>}
    </>
  );
}
