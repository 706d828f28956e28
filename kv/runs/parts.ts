/**
 * Reads the parts of a run.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { Closing, Opening, RunParts } from "../../domain/runs/run.ts";
import { readBlob, type Store } from "../store.ts";
import { decodePart } from "../base/codec.ts";

/** Decodes a run's opening and close from their stored values. */
export async function readParts(
  store: Store,
  team: TeamId,
  id: RunId,
  opening: unknown,
  closing: unknown,
): Promise<RunParts> {
  const [opened, closed] = await Promise.all([
    readBlob(store, team, id, opening),
    readBlob(store, team, id, closing),
  ]);
  return {
    opening: opened === null ? null : decodePart<Opening>(opened),
    closing: closed === null ? null : decodePart<Closing>(closed),
  };
}
