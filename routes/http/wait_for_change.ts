/** Waits of calls for a change of a team or of a run. */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { ChangeStore } from "../../domain/feed/changes.ts";

/** Milliseconds between two reads for commits of other processes. */
const POLL_MS = 500;

/** The subject of a wait. */
interface Waited {
  readonly team: TeamId;
  /** Null to wait for any change of the team. */
  readonly run: RunId | null;
  /** True to wait for results of judges too. */
  readonly withJudges?: boolean;
}

/**
 * Waits until a check succeeds; false if the signal is aborted first. It checks immediately, after
 * commits of this process, and when a read finds the commit of another one.
 */
export async function waitForChange(
  changes: ChangeStore,
  { team, run, withJudges = false }: Waited,
  signal: AbortSignal,
  isDone: () => Promise<boolean>,
): Promise<boolean> {
  let wakeUp = () => {};
  using _listening = changes.listen(team, run, () => wakeUp());
  signal.addEventListener("abort", () => wakeUp());
  let checked: string | null = null;
  while (!signal.aborted) {
    // Before the reads: a change during them ends the rest immediately.
    const rest = Promise.withResolvers<void>();
    wakeUp = rest.resolve;
    // The store may fail for a moment, and answer at the next read.
    const version = await changes.version(team, run, withJudges).catch(() => checked);
    if (version !== checked && await isDone()) return true;
    checked = version;
    const timer = setTimeout(rest.resolve, POLL_MS);
    await rest.promise;
    clearTimeout(timer);
  }
  return false;
}
