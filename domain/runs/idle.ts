/**
 * Idle closes: the close of a run that sent nothing for the timeout that its opening asks for.
 *
 * An idle close is a part of the run that only counts while nothing contradicts it: a finish
 * replaces it, and a later batch of events reopens the run (decision 112). Calls never see it, so
 * no call is refused because of it.
 *
 * @module
 */
import type { EventLedger } from "./ledger.ts";
import { isOpenTrace, TRACE_IDLE_SECONDS } from "./trace_facts.ts";
import type { ClosedBy, Closing, FinishStatus, Opening, RunParts } from "./run.ts";

/** Status of an idle close if the opening sets none. */
const STATUS_DEFAULT: FinishStatus = "timeout";

/** An idle close as stored. */
export interface IdleClose {
  /** Final status. */
  readonly status: FinishStatus;
  /** End of the run: `ts` of its last event, or its start; unix milliseconds. */
  readonly at: number;
  /** Deadline at which it was closed, unix milliseconds. */
  readonly receivedAt: number;
  /** Number of batches of events that had arrived; with more, it no longer counts. */
  readonly seen: number;
}

/**
 * Returns when a run becomes idle, if no further call arrives, unix milliseconds; null if it never
 * does. It counts from the arrival of the opening or of the latest events.
 */
export function idleDeadlineOf(
  opening: Opening | null,
  ledger: Pick<EventLedger, "latestAt" | "trace">,
): number | null {
  const latestAt = ledger.latestAt ?? 0;
  if (opening === null) {
    return isOpenTrace(ledger) ? latestAt + 1_000 * TRACE_IDLE_SECONDS : null;
  }
  if (opening.kind !== "run" || opening.idleTimeoutSeconds === undefined) return null;
  return Math.max(opening.receivedAt, latestAt) + idleTimeoutMsOf(opening);
}

/** Returns the idle timeout of a run, milliseconds; 0 for none. */
export function idleTimeoutMsOf({ idleTimeoutSeconds = 0 }: Opening): number {
  return idleTimeoutSeconds * 1_000;
}

/**
 * Returns the idle close of a run.
 *
 * @param lastTs `ts` of its last event, unix milliseconds; null without events
 * @param closedAt deadline at which it is closed, unix milliseconds
 */
export function idleCloseOf(
  opening: Opening,
  { batches, trace }: Pick<EventLedger, "batches" | "trace">,
  lastTs: number | null,
  closedAt: number,
): IdleClose {
  const traceEnd = opening.isOfTrace === true ? trace?.end?.at : undefined;
  return {
    status: opening.idleTimeoutStatus ?? STATUS_DEFAULT,
    at: traceEnd === undefined ? lastTs ?? opening.startedAt : Math.floor(traceEnd),
    receivedAt: closedAt,
    seen: batches,
  };
}

/** Returns the parts of a run with its idle close, if that counts. */
export function withIdleClose(
  parts: RunParts,
  idle: IdleClose | null,
  { batches, trace }: Pick<EventLedger, "batches" | "trace">,
): RunParts {
  const counts = idle !== null && parts.closing === null && idle.seen === batches &&
    (parts.opening !== null || isOpenTrace({ trace }));
  if (!counts) return parts;
  const { status, at: finishedAt, receivedAt } = idle;
  return { ...parts, closing: { status, finishedAt, receivedAt, closedBy: "idle" } };
}

/** Returns what closed a run; null while it is open. */
export function closedByOf(closing: Pick<Closing, "closedBy"> | null): ClosedBy | null {
  return closing === null ? null : closing.closedBy ?? "finish";
}
