/**
 * Errors of runs in incidents.
 *
 * @module
 */
import { TEXT_CHARS_MAX } from "../../domain/channels/forms/words.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { cutText, printable } from "../../domain/core/text.ts";
import { errorOf } from "../../domain/runs/run.ts";
import { keys } from "../base/keys.ts";
import { readParts } from "../runs/heads.ts";
import { getValue, type Store } from "../store.ts";

/** Reads the first 200 characters of a run's error; null if it has none. */
export async function readError(store: Store, team: TeamId, id: RunId): Promise<string | null> {
  const closing = await getValue(store, keys.closing(team, id));
  const error = errorOf(await readParts({ store, team, id }, null, closing));
  return error === null ? null : cutText(printable(error), TEXT_CHARS_MAX.error);
}
