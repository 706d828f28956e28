/**
 * Verifies entries: each is stored once, in a row of its own or in a block.
 *
 * @module
 */
import {
  Block,
  blockKey,
  ENTRIES_PER_COMMIT_MAX,
  type Entry,
  packBlock,
  type Position,
} from "../base/entries.ts";
import { keys } from "../base/keys.ts";
import type { ReadHead } from "../runs/heads.ts";
import { eachRow, getAll } from "../store.ts";
import { type Findings, NONE, type TeamCheck } from "./findings.ts";

/** An entry that must be stored, in an order that has this prefix. */
export type ExpectedEntry = Entry & { readonly order: Deno.KvKey };

/** Finds entries of a run that are missing, different, or stored more than once. */
export async function verifyEntries(
  { store, id, summary }: ReadHead,
  expected: readonly ExpectedEntry[],
  findings: Findings,
): Promise<void> {
  const { blocks = [] } = summary ?? {};
  const places = expected.flatMap(({ order, at, run }) => [
    keys.entry(order, at, run),
    ...blocks.map((number) => blockKey(order, at, number)),
  ]);
  const rows = await getAll(store, places);
  for (const { order, at, run, value } of expected) {
    const [own, ...shared] = rows.splice(0, 1 + blocks.length);
    const found = shared.flatMap((row) => entriesOf(row, { at, run })).map(({ value }) => value);
    if (own !== undefined && own.versionstamp !== null) found.push(own.value);
    const what = `index ${[...order.slice(2), at].join(" ")} for ${id}`;
    if (found.length === 1) findings.compare(what, { value }, { value: found[0] });
    else findings.note(what, "stored", found.length === 0 ? NONE : `stored ${found.length} times`);
  }
}

/**
 * Decodes the entries of a block, or those at a position; none if it is not a block. Blocks only
 * lose entries, so one of a commit never has more than the commit added.
 */
function entriesOf({ key, value }: Deno.KvEntryMaybe<unknown>, position?: Position): Entry[] {
  if (!(value instanceof Uint8Array)) return [];
  const block = new Block({ key, value });
  if (block.count > ENTRIES_PER_COMMIT_MAX) return [];
  return Array.from({ length: block.count }, (_, i) => i)
    .filter((i) => position === undefined || block.compare(i, position) === 0)
    .map((i) => block.entry(i));
}

/** Yields the stored values of all orders below a prefix, with the key of the row, also of a block. */
export async function* entryValues(check: TeamCheck, prefix: Deno.KvKey) {
  for await (const { key, value } of eachRow(check.store, { prefix })) {
    yield { key, values: [value] };
  }
  yield* blockValues(check, prefix);
}

/** Verifies the blocks of all orders below a prefix, and yields their values. */
export async function* blockValues({ store, findings }: TeamCheck, prefix: Deno.KvKey) {
  for await (const row of eachRow(store, { prefix: keys.blocks(prefix) })) {
    const key = row.key.slice(1);
    const entries = entriesOf(row);
    if (!isBlockOf(entries, row.value)) {
      const what = `block ${[key[0], ...key.slice(2)].join(" ")}`;
      findings.note(what, "entries", entries.length === 0 ? NONE : "other bytes");
    }
    yield { key, values: entries.map(({ value }) => value) };
  }
}

/** Returns whether a value is what a commit writes for these entries. */
function isBlockOf(entries: readonly Entry[], value: unknown): boolean {
  if (entries.length === 0 || !(value instanceof Uint8Array)) return false;
  try {
    return packBlock(entries).toHex() === value.toHex();
  } catch {
    // The id of a run is not one.
    return false;
  }
}
