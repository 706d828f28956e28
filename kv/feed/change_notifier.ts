/**
 * Notifies listeners of this process of its own commits. Nothing here reads the store: a listener
 * finds the commits of other processes itself.
 *
 * @module
 */
import { EventEmitter } from "node:events";
import type { RunId, TeamId } from "../../domain/core/ids.ts";

/** Notifies listeners of the changes of a team or of one of its runs. */
export class ChangeNotifier {
  /** Events have the name of a team, or of a team and a run. */
  readonly #events = new EventEmitter().setMaxListeners(0);

  /** Calls back after each commit that changes the team, or this run, until disposed. */
  listen(team: TeamId, run: RunId | null, changed: () => void): Disposable {
    const name = nameOf(team, run);
    this.#events.on(name, changed);
    return { [Symbol.dispose]: () => void this.#events.off(name, changed) };
  }

  /** Notifies the listeners of a team and of these runs, after the commit is on disk. */
  notify(team: TeamId, runs: readonly RunId[]): void {
    this.#events.emit(nameOf(team, null));
    for (const run of runs) this.#events.emit(nameOf(team, run));
  }
}

function nameOf(team: TeamId, run: RunId | null): string {
  return `${team} ${run ?? ""}`;
}
