/**
 * Errors of runs in incidents.
 *
 * @module
 */
import type { Tally } from "../../domain/alerts/outcomes.ts";
import type { AlertSignal } from "../../domain/alerts/signal.ts";
import { TEXT_CHARS_MAX } from "../../domain/channels/forms/words.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { cutText, printable } from "../../domain/core/text.ts";
import { errorOf } from "../../domain/runs/run.ts";
import { keys } from "../base/keys.ts";
import { readParts } from "../runs/heads.ts";
import { getValue, type Store } from "../store.ts";

/**
 * Returns the error of a group's newest run; null if it has none.
 *
 * @param added bad outcomes that are added; undefined is returned if none is of that run
 */
export async function newestError(
  store: Store,
  team: TeamId,
  added: readonly AlertSignal[],
  { runs: [newest] }: Tally,
): Promise<string | null | undefined> {
  const last = added.findLast(({ run }) => run === null || run === newest);
  if (last === undefined || last.error !== null) return last?.error;
  const isRead = last.kind === "run_failed" && last.run !== null;
  return isRead ? await readError(store, team, last.run) : null;
}

/** Reads the first 200 characters of a run's error; null if it has none. */
async function readError(store: Store, team: TeamId, id: RunId): Promise<string | null> {
  const closing = await getValue(store, keys.closing(team, id));
  const error = errorOf(await readParts({ store, team, id }, null, closing));
  return error === null ? null : cutText(printable(error), TEXT_CHARS_MAX.error);
}
