/** Waits of calls for a change of a team or of a run. */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { ChangeStore } from "../../domain/feed/changes.ts";

/** Milliseconds between two looks for commits of other processes. */
const LOOK_MS = 500;

/**
 * Waits until a check succeeds; false if the signal is aborted first. It checks immediately, after
 * commits of this process, and when a look finds the commit of another one.
 *
 * @param run null to wait for any change of the team
 */
export async function waitForChange(
  changes: ChangeStore,
  { team, run }: { readonly team: TeamId; readonly run: RunId | null },
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
    // The store may fail for a moment, and answer at the next look.
    const version = await changes.version(team, run).catch(() => checked);
    if (version !== checked && await isDone()) return true;
    checked = version;
    const timer = setTimeout(rest.resolve, LOOK_MS);
    await rest.promise;
    clearTimeout(timer);
  }
  return false;
}
