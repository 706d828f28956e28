/**
 * Lists the index names of a model, one for each provider.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { isBlock } from "../base/entries.ts";
import { keys } from "../base/keys.ts";
import { modelPart, modelPrefix } from "../base/index_parts.ts";
import type { TeamAt } from "../runs/heads.ts";
import { listRows } from "../store.ts";

/** Maximum number of providers searched; a query of a model with more should name one. */
const NAMES_MAX = 20;

/** Offset of the name in the key of a single entry; the key of a block has one part more. */
const NAME_AT = 3;

/** Sorts after every other character. */
const LAST = "\u{10FFFF}";

/**
 * Reads the index names of a model, one after the other.
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
  const { start, end } = keys.runsOfNames(team, "model", from, prefix + LAST);
  // A name may have blocks, rows of single entries, or both.
  const rows = [
    ...await listRows(store, { start: keys.blocks(start), end: keys.blocks(end) }, { limit: 1 }),
    ...await listRows(store, { start, end }, { limit: 1 }),
  ];
  const names = rows.map(({ key }) => String(key[isBlock(key) ? NAME_AT + 1 : NAME_AT]));
  return names.sort(compareInStore)[0] ?? null;
}

/** Compares two texts as the store sorts them: by their UTF-8 bytes. */
function compareInStore(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
