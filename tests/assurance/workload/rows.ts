/** Rows of a store as text, decoded as far as their bytes say how. */
import { chunksOf, unpackBlob } from "../../../kv/base/blob.ts";
import { isBlock, unpackBlock } from "../../../kv/index/entries.ts";
import type { Store } from "../../../kv/store.ts";
import { decodeLedger } from "../../../kv/base/codec_sums.ts";
import { toJson } from "../../../kv/transfer/export_rows.ts";

type Row = Deno.KvEntry<unknown>;

/** Reads all rows: the family of each, and its text. */
export async function readRows({ reader }: Store): Promise<[family: string, text: string][]> {
  const rows = await Array.fromAsync(reader.list({ prefix: [] }));
  const chunks = Map.groupBy(
    rows.filter(({ key: [family] }) => family === "chunk"),
    ({ key }) => String(key.at(-2)),
  );
  return rows.map((row) => {
    const shown = [row.key.map(toJson), toJson(decoded(row, chunks))];
    return [familyOf(row), JSON.stringify(shown)];
  });
}

/** The first part of a key and, below a run or a team, the name that says what the row is. */
function familyOf({ key: [first, second, , part] }: Row): string {
  if (first === "run" || first === "events") return [first, part ?? "head"].join(" ");
  return first === "block" ? `${first} ${String(second)}` : String(first);
}

function decoded(row: Row, chunks: ReadonlyMap<string, readonly Row[]>): unknown {
  const { key, value } = row;
  if (!(value instanceof Uint8Array)) return value;
  // The row that it belongs to shows it: as bytes, its names cannot be renumbered.
  if (key[0] === "chunk") return null;
  if (isBlock(key)) return unpackBlock(row).map(({ at, run, value }) => ({ at, run, value }));
  if (key[0] === "run" && key[3] === "ledger") return decodeLedger(value);
  const { name, count } = chunksOf(value);
  const further = count === 0 ? [] : chunks.get(name) ?? [];
  const unpacked = () => unpackBlob(value, further.map((chunk) => chunk.value as Uint8Array));
  if (key[0] === "events" && key[3] === "batch") return unpacked();
  // The bytes of an index are no text.
  return jsonOf(unpacked) ??
    jsonOf(() => new TextDecoder("utf-8", { fatal: true }).decode(value)) ?? value;
}

/** Returns a text if it is JSON; null if it is not, or cannot be read. */
function jsonOf(read: () => string): string | null {
  try {
    const text = read();
    JSON.parse(text);
    return text;
  } catch {
    return null;
  }
}
