/**
 * Finds runs that are open for too long, oldest first.
 *
 * @module
 */
import { subjectOf } from "../../domain/alerts/run_signals.ts";
import type { SignalSubject } from "../../domain/alerts/signal.ts";
import { judgedAt, type WorkTime } from "../../domain/work/work.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { EntryReader, type Position } from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import { readSummaries } from "../runs/heads.ts";
import type { Store } from "../store.ts";

/** Maximum entries of the index of one search. */
const ENTRIES_MAX = 1_000;

/** A run that is open for too long. */
export interface StuckRun {
  readonly run: RunId;
  readonly subject: SignalSubject;
  /** Time from which it counts as stuck, unix milliseconds. */
  readonly at: number;
  /** Seconds for which it was open then. */
  readonly seconds: number;
}

/** Result of a search. */
export interface StuckRuns {
  readonly stuck: readonly StuckRun[];
  /** Position after which to continue; null if there is no older run. */
  readonly next: Position | null;
  /** Time at which the next run may be stuck, unix milliseconds; null if no other run is open. */
  readonly nextAt: number | null;
}

/**
 * Finds open runs of a team whose opening arrived `seconds` ago. It reads a bounded number of runs,
 * so it may end early. A deadline in an absence of the service is postponed (decision 51).
 *
 * @param after position after which to begin; null for the run that started first
 */
export async function findStuckRuns(
  store: Store,
  team: TeamId,
  seconds: number,
  after: Position | null,
  { nowMs, summarizedToMs, absences }: WorkTime,
): Promise<StuckRuns> {
  const limitMs = seconds * 1_000;
  const order = keys.runsBy(team, "status", "running");
  const reader = new EntryReader(store, order, { end: null, reverse: false });
  // One more than is looked at, to know when the next run may be stuck.
  const { entries } = await reader.read(after, ENTRIES_MAX + 1);
  const startedTo = summarizedToMs - limitMs;
  const old = entries.slice(0, ENTRIES_MAX).filter(({ at }) => at <= startedTo);
  const summaries = await readSummaries({ store, team }, old.map(({ run }) => run));
  const stuck: StuckRun[] = [];
  const waiting: number[] = [];
  for (const { run } of old) {
    const summary = summaries.get(run);
    const openedAt = summary?.shown.openedAt ?? null;
    const isOpen = summary?.contribution?.labels.status === "running";
    if (summary === undefined || !isOpen || openedAt === null) continue;
    const at = judgedAt(openedAt + limitMs, 0, absences);
    if (at > nowMs || openedAt + limitMs > summarizedToMs) waiting.push(at);
    else stuck.push({ run, subject: subjectOf(summary), at, seconds: (at - openedAt) / 1_000 });
  }
  const following = entries[old.length];
  const isAll = following === undefined || following.at > startedTo;
  if (following !== undefined && isAll) waiting.push(following.at + limitMs);
  const last = old.at(-1);
  return {
    stuck,
    next: isAll || last === undefined ? null : { at: last.at, run: last.run },
    nextAt: waiting.length === 0 ? null : Math.min(...waiting),
  };
}
