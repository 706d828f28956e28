/**
 * Lists the index names of a model, one for each provider.
 *
 * @module
 */
import { keys } from "../base/keys.ts";
import { modelPart, modelPrefix } from "../base/index_parts.ts";
import type { TeamAt } from "../runs/heads.ts";
import { listRows } from "../store.ts";

/** Maximum number of providers searched; a query of a model with more should name one. */
const NAMES_MAX = 20;

/** Offset of the name in a key. */
const NAME_AT = 3;

/** Sorts after every other character. */
const LAST = "\u{10FFFF}";

/**
 * Reads the index names of a model, one read for each.
 *
 * @param provider undefined for any, null for none
 */
export async function modelParts(
  at: TeamAt,
  model: string,
  provider: string | null | undefined,
): Promise<string[]> {
  if (provider !== undefined) return [modelPart({ provider, model })];
  const names: string[] = [];
  let name = await nextModelPart(at, model, null);
  while (name !== null && names.push(name) < NAMES_MAX) {
    name = await nextModelPart(at, model, name);
  }
  return names;
}

/** Reads the index name of a model after a name; the first one after null. */
export async function nextModelPart(
  { store, team }: TeamAt,
  model: string,
  after: string | null,
): Promise<string | null> {
  const prefix = modelPrefix(model);
  const from = after === null ? prefix : `${after}\0`;
  const range = keys.runsOfNames(team, "model", from, prefix + LAST);
  const [row] = await listRows(store, range, { limit: 1 });
  return row === undefined ? null : String(row.key[NAME_AT]);
}
