/**
 * Moves ledgers between stores of any kind, as lines of text: one for each row in the order of the
 * keys, and a last one with their number.
 *
 * An import begins by marking the store and ends by removing the mark, so that no service starts on
 * a part of a ledger.
 *
 * @module
 */
import { keys, OWN_FORMAT } from "./base/keys.ts";
import { parseRow, rowText } from "./base/row_text.ts";
import { eachRow, listRows, type Store } from "./store.ts";
import type { KvSet } from "./writer/write.ts";
import { sizeOf } from "./writer/group.ts";

/** A ledger could not be exported or imported; the message says what to do. */
export class TransferFailed extends Error {
  override readonly name = "TransferFailed";
}

/** Maximum rows and bytes of one commit of an import. */
const COMMIT_MAX = { rows: 500, bytes: 500_000, keyBytes: 60_000 } as const;

/** First parts of keys that belong to processes, not to the ledger. */
const OF_PROCESSES = new Set<unknown>([keys.receipts()[0], keys.lease()[0]]);

/** Names the number of rows in the last line. */
const END = "rows";

/**
 * Returns the lines of a ledger. Nothing may change it meanwhile.
 *
 * @throws {TransferFailed} when it has changed; what was returned is then useless
 */
export async function* exportLines(store: Store): AsyncGenerator<string> {
  const before = await receiptsOf(store);
  let rows = 0;
  for await (const row of eachRow(store, { prefix: [] })) {
    if (OF_PROCESSES.has(row.key[0])) continue;
    rows++;
    yield rowText(row);
  }
  // Every commit on a shared store changes a receipt; a file is locked.
  if (await receiptsOf(store) !== before) {
    throw new TransferFailed(
      "The ledger changed while it was exported: stop its services, then export again",
    );
  }
  yield JSON.stringify({ [END]: rows });
}

async function receiptsOf(store: Store): Promise<string> {
  const receipts = await listRows(store, { prefix: keys.receipts() });
  return receipts.map(({ versionstamp }) => versionstamp).join();
}

/**
 * Stores the lines of an export in an empty store.
 *
 * @param onRow called for each row
 * @throws {TransferFailed} when the store is not empty, or the export is incomplete
 */
export async function importLines(
  store: Store,
  lines: AsyncIterable<string>,
  onRow: () => void = () => {},
): Promise<void> {
  const [found] = await listRows(store, { prefix: [] }, { limit: 1 });
  if (found !== undefined) {
    throw new TransferFailed("The store is not empty: import into a new one");
  }
  const format = keys.format();
  const commit = (sets: readonly KvSet[]) => store.writer.commit({ sets });
  await commit([{ key: format, value: { ...OWN_FORMAT, format: "importing" } }]);
  let [rows, end, written] = [0, NaN, null as unknown];
  let batch = new Batch();
  for await (const line of lines) {
    const count = endOf(line);
    if (count !== null) {
      end = count;
      continue;
    }
    const row = rowOf(line, rows);
    rows++;
    onRow();
    if (isFormat(row)) written = row.value;
    else if (!batch.add(row)) {
      await commit(batch.rows);
      batch = new Batch();
      batch.add(row);
    }
  }
  if (end !== rows) {
    throw new TransferFailed("The export is incomplete: export again, and import into a new store");
  }
  if (written === null) throw new TransferFailed("no format");
  await commit([...batch.rows, { key: format, value: OWN_FORMAT }]);
}

/** Rows of one commit. */
class Batch {
  readonly rows: KvSet[] = [];
  #bytes = 0;
  #keyBytes = 0;

  /** Adds a row; returns false if it does not fit. The first one always does. */
  add(row: KvSet): boolean {
    const { bytes, keyBytes } = sizeOf({ sets: [row] });
    const isFull = this.rows.length === COMMIT_MAX.rows ||
      this.#bytes + bytes > COMMIT_MAX.bytes || this.#keyBytes + keyBytes > COMMIT_MAX.keyBytes;
    if (isFull && this.rows.length > 0) return false;
    this.rows.push(row);
    this.#bytes += bytes;
    this.#keyBytes += keyBytes;
    return true;
  }
}

function isFormat({ key }: KvSet): boolean {
  const [name, ...more] = key;
  return name === keys.format()[0] && more.length === 0;
}

/** Returns the number of rows in a last line; null for other lines. */
function endOf(line: string): number | null {
  return line.startsWith("{") ? Number(JSON.parse(line)[END]) : null;
}

function rowOf(line: string, rows: number): KvSet {
  try {
    return parseRow(line);
  } catch {
    throw new TransferFailed(`Line ${rows + 1} of the export is damaged: export again`);
  }
}
