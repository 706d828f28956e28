/**
 * The names that a model has in the index, whoever provided it.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { modelPart, modelPrefix } from "../base/index_parts.ts";
import { listRows, type Store } from "../store.ts";

/** Names that are looked into; of a model that more provide a query should name one. */
const NAMES_MAX = 20;

/** Where the name stands in a key. */
const NAME_AT = 3;

/** Behind every character there is. */
const LAST = "\u{10FFFF}";

/**
 * Reads them, one read for each.
 *
 * @param provider undefined for any, null for none
 */
export async function modelParts(
  store: Store,
  team: TeamId,
  model: string,
  provider: string | null | undefined,
): Promise<string[]> {
  if (provider !== undefined) return [modelPart({ provider, model })];
  const prefix = modelPrefix(model);
  const names: string[] = [];
  let from = prefix;
  while (names.length < NAMES_MAX) {
    const range = keys.runsOfNames(team, "model", from, prefix + LAST);
    const [row] = await listRows(store, range, { limit: 1 });
    if (row === undefined) break;
    const name = String(row.key[NAME_AT]);
    names.push(name);
    from = `${name}\0`;
  }
  return names;
}
