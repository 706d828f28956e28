/** Finds rows without an owner, which a removal should have deleted. */
import { assertEquals } from "@std/assert";
import { type EventLedger, ID_PAGES_MAX } from "../../../domain/runs/ledger.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { chunksOf } from "../../../kv/base/blob.ts";
import { isBlock, unpackBlock } from "../../../kv/index/entries.ts";
import { keys } from "../../../kv/base/keys.ts";
import { ledgerOf, tombstoneOf } from "../../../kv/runs/heads.ts";
import { stagedChunks, type StagedMark } from "../../../kv/runs/staging.ts";
import type { Store } from "../../../kv/store.ts";
import { keyText } from "../../../kv/writer/group.ts";

type Row = Deno.KvEntry<unknown>;

/** Positions of the run and its team in the keys of each family that names them. */
const RUN_AND_TEAM: Readonly<Record<string, readonly [run: number, team: number]>> = {
  run: [1, 2],
  events: [1, 2],
  chunk: [1, 2],
  staged: [1, 2],
  run_by: [5, 1],
  expiry: [4, 1],
  change: [3, 1],
  failed: [3, 1],
  check_failure: [4, 1],
};

/** Parts of a run that calls store: a run has at least one of them. */
const PARTS = ["opening", "closing", "ledger"];

class StoredRun {
  readonly parts = new Map<string, unknown>();
  readonly rows: Row[] = [];

  get isDeleted(): boolean {
    return tombstoneOf([...this.parts.values()]) !== null;
  }

  get ledger(): EventLedger | null {
    const stored = this.parts.get("ledger") ?? null;
    return stored === null ? null : ledgerOf(stored);
  }
}

/**
 * Returns the rows of a store that belong to no stored run, or to none of its parts.
 *
 * A deleted run may have rows for its next retention check; they are removed when they are due. So are
 * chunks that a write has staged, with their mark. Each entry of a block counts as a row.
 */
export async function strayRows(store: Store): Promise<string[]> {
  const runs = new Map<string, StoredRun>();
  const stray: Deno.KvKey[] = [];
  for await (const row of rowsOf(store)) {
    const { key, value } = row;
    if (key[0] === "purge" || key[0] === "deletion_count") stray.push(key);
    const isWork = key[0] === "work" && key[3] === "run";
    const at = isWork ? [5, 4] as const : RUN_AND_TEAM[String(key[0])];
    if (at === undefined) continue;
    const name = `${String(key[at[1]])} ${String(key[at[0]])}`;
    const run = runs.get(name) ?? new StoredRun();
    runs.set(name, run);
    if (key[0] === "run" && PARTS.includes(String(key[3]))) run.parts.set(String(key[3]), value);
    else run.rows.push(row);
  }
  for (const run of runs.values()) {
    const ownedChunks = piecesOf([...run.parts.values(), ...run.rows.map(({ value }) => value)]);
    const marks = run.rows.filter(({ key }) => key[0] === "staged") as Deno.KvEntry<StagedMark>[];
    const staged = new Set(marks.flatMap((mark) => [mark.key, ...stagedChunks(mark)].map(keyText)));
    const rows = run.rows.filter(({ key }) => !staged.has(keyText(key)));
    stray.push(...rows.filter((row) => isStray(run, row, ownedChunks)).map(({ key }) => key));
  }
  return stray.map((key) => key.join(" "));
}

/** Iterates over the rows of a store, with a row for each entry of a block. */
async function* rowsOf(store: Store): AsyncGenerator<Row> {
  for await (const row of store.reader.list({ prefix: [] })) {
    if (!isBlock(row.key)) yield row;
    else {
      const order = row.key.slice(1, -2);
      for (const { at, run, value } of unpackBlock(row)) {
        yield { ...row, key: keys.entry(order, at, run), value };
      }
    }
  }
}

/** Fails unless every number of every team equals the total of its runs' parts. */
export async function assertExact(store: Store, message?: string): Promise<void> {
  const { differences, teams } = await verifyStore(store, { pauseMs: 0 });
  assertEquals(differences, [], message);
  // A team with pending runs is not compared.
  assertEquals(teams.filter(({ state }) => state !== "exact"), [], message);
}

/** Fails unless no row of a removed run remains, and every number is exact. */
export async function assertClean(store: Store, message?: string): Promise<void> {
  assertEquals(await strayRows(store), [], message);
  await assertExact(store, message);
}

function isStray(run: StoredRun, { key }: Row, ownedChunks: ReadonlySet<string>): boolean {
  const [family, , , kind, number] = key;
  if (run.parts.size === 0) return true;
  // The feed lists a deleted run as long as its id is refused.
  if (run.isDeleted) return family !== "expiry" && family !== "change";
  if (family === "chunk") return !ownedChunks.has(`${String(kind)} ${String(number)}`);
  if (family !== "events") return false;
  const { removed = 0, batches = 0, sealed = 0 } = run.ledger ?? {};
  if (kind === "page") return Number(number) >= sealed;
  if (kind === "directory") return Number(number) * 64 >= sealed;
  if (kind === "id") return sealed < ID_PAGES_MAX;
  if (kind === "removed") return removed === 0;
  if (kind === "score") return run.ledger?.scores === undefined;
  return Number(number) < removed || Number(number) >= batches;
}

/** Returns the further chunks that values name. */
function piecesOf(values: readonly unknown[]): Set<string> {
  const names = new Set<string>();
  for (const value of values) {
    if (!(value instanceof Uint8Array) || value.length < 2) continue;
    const { name, count } = chunksOf(value);
    for (let i = 0; i < count; i++) names.add(`${name} ${i}`);
  }
  return names;
}
