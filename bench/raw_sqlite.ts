/**
 * The physical limit: the bytes of opens inserted by SQLite in large transactions, each synced to
 * disk; prints opens a second.
 *
 * Usage: raw_sqlite.ts FILE SECONDS
 */
import { DatabaseSync } from "node:sqlite";
import { COUNTER, nextRecord } from "./records.ts";
import { print } from "./say.ts";

/** Rows of one transaction: about what one atomic operation can check. */
const ROWS = 90;
const WARM_UP_MS = 500;

const [file = ":memory:", seconds = "1"] = Deno.args;
using database = new DatabaseSync(file);
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE kv (
    k BLOB PRIMARY KEY,
    v BLOB NOT NULL,
    v_encoding INTEGER NOT NULL,
    version INTEGER NOT NULL
  ) WITHOUT ROWID`);
const insert = database.prepare("INSERT INTO kv VALUES (?, ?, 1, ?)");
const count = database.prepare(`INSERT INTO kv VALUES (?, ?, 2, ?)
  ON CONFLICT (k) DO UPDATE SET v = excluded.v, version = excluded.version`);
const encoder = new TextEncoder();
/** As many bytes as the store makes of a key: each part between a tag and a NUL. */
const encode = (key: Deno.KvKey) =>
  encoder.encode(key.map((part) => `\u0002${String(part)}\0`).join(""));
const counterKey = encode(COUNTER);
let [version, written] = [0, 0];

function writeFor(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) {
    version++;
    database.exec("BEGIN IMMEDIATE");
    for (let row = 0; row < ROWS; row++) {
      const { key, value } = nextRecord();
      insert.run(encode(key), value, version);
    }
    written += ROWS;
    count.run(counterKey, new Uint8Array(new BigUint64Array([BigInt(written)]).buffer), version);
    database.exec("COMMIT");
  }
}

writeFor(WARM_UP_MS);
written = 0;
const startMs = performance.now();
writeFor(Number(seconds) * 1000);
print(JSON.stringify(written * 1000 / (performance.now() - startMs)));
