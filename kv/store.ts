/**
 * The open store: a handle for writes, a handle for reads, and blobs over both.
 *
 * @module
 */
import type { Deadlines } from "../runtime/deadlines.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import { compilePattern, patternBytes } from "../domain/checks/language/pattern.ts";
import type { Patterns } from "../domain/checks/program.ts";
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { type CronSlots, slotsOf } from "../domain/monitors/schedule.ts";
import { type Blob, chunksOf, intoChunks, packBlob, unpackBlob } from "./base/blob.ts";
import { COMMIT_BYTES_MAX, GET_MANY_KEYS_MAX, groupsOf } from "./base/limits.ts";
import { inTime } from "./base/retry.ts";
import { type fileBytesOf, lockOf, logOf } from "./base/files.ts";
import { keys, newRowName } from "./base/keys.ts";
import {
  countBytes,
  countRead,
  isEnded,
  READS,
  Reads,
  SEARCHES,
  throwIfEnded,
} from "./base/reads.ts";
import { RecentHeads } from "./recent_heads.ts";
import { KeyedMutex } from "../runtime/fair_slots.ts";
import { memo } from "../runtime/memory.ts";
import { GroupWriter, type Writer, type WriterDeps } from "./writer/writer.ts";
import type { KvSet, Write } from "./writer/group.ts";

export { newRowName } from "./base/keys.ts";

/** Dependencies of a store. */
export interface StoreDeps extends WriterDeps {
  /** Deadlines of callers. */
  readonly deadlines: Deadlines;
  /** Returns the sizes of the ledger's files; null if it has none. */
  readonly fileBytes: () => ReturnType<typeof fileBytesOf>;
}

/** Shared base of all stores in `kv/`. */
export interface Store extends Omit<StoreDeps, "kv"> {
  readonly writer: Writer;
  /** Locks for adding events to a run and deleting them, by the run's pending name. */
  readonly runLocks: KeyedMutex;
  /** Slots for request reads. */
  readonly reads: Reads;
  /** Slots for searches of runs. */
  readonly searches: Reads;
  /** Heads of recently written runs. */
  readonly heads: RecentHeads;
  readonly patterns: Patterns;
  readonly cronSlots: CronSlots;
}

/** Bytes of the latest slots of a cron line. */
const CRON_SLOTS_BYTES = 600;

/** Builds a store over open handles. */
export function createStore({ kv, ...deps }: StoreDeps): Store {
  const { deadlines, limits, memory } = deps;
  return {
    ...deps,
    writer: new GroupWriter({ kv, ...deps }),
    runLocks: new KeyedMutex(deadlines),
    reads: new Reads(deadlines, READS[limits.mayRepeat ? "shared" : "file"]),
    searches: new Reads(deadlines, SEARCHES),
    // Only a file is locked by its process; a shared store may repeat commits.
    heads: new RecentHeads(memory, !limits.mayRepeat),
    patterns: memo(compilePattern, {
      memory,
      part: 0.6,
      nameOf: ({ source }) => source,
      bytesOf: patternBytes,
    }),
    cronSlots: memo(slotsOf, {
      memory,
      part: 0.3,
      nameOf: ({ cron, tz }) => `${tz} ${cron}`,
      bytesOf: () => CRON_SLOTS_BYTES,
    }),
  };
}

/** Reads at most 10 keys from one snapshot. */
export async function getMany(
  store: Store,
  keysToRead: readonly Deno.KvKey[],
): Promise<Deno.KvEntryMaybe<unknown>[]> {
  throwIfEnded();
  try {
    const entries = await store.reader.getMany(keysToRead);
    countRead(entries);
    return entries;
  } catch (error) {
    throw unavailable("read", error);
  }
}

/** Reads the entry at a key. */
export async function getEntry(store: Store, key: Deno.KvKey): Promise<Deno.KvEntryMaybe<unknown>> {
  return (await getMany(store, [key]))[0]!;
}

/** Reads the entry at a key; null if there is none. */
export async function findEntry<T>(store: Store, key: Deno.KvKey): Promise<Deno.KvEntry<T> | null> {
  const entry = await getEntry(store, key);
  return entry.versionstamp === null ? null : entry as Deno.KvEntry<T>;
}

/** Reads the value at a key; null if there is none. */
export async function getValue<T>(store: Store, key: Deno.KvKey): Promise<T | null> {
  return (await getEntry(store, key)).value as T | null;
}

/** Returns the value of a counter entry. */
export function countOf({ value }: Deno.KvEntryMaybe<unknown>): number {
  return value instanceof Deno.KvU64 ? Number(value.value) : 0;
}

/**
 * Concurrent reads of one caller, of 10 keys each; each read is one snapshot. A file reads one at a
 * time; from a distant store they arrive together.
 */
const READS_AT_ONCE = { file: 5, shared: 30 } as const;

/** Reads any number of keys, in their order; more than 10 are not one snapshot. */
export async function getAll(
  store: Store,
  keysToRead: readonly Deno.KvKey[],
): Promise<Deno.KvEntryMaybe<unknown>[]> {
  const entries: Deno.KvEntryMaybe<unknown>[] = [];
  const atOnce = READS_AT_ONCE[store.limits.mayRepeat ? "shared" : "file"];
  for (const group of groupsOf(keysToRead, atOnce * GET_MANY_KEYS_MAX)) {
    const reads = groupsOf(group, GET_MANY_KEYS_MAX).map((batch) => getMany(store, batch));
    entries.push(...(await Promise.all(reads)).flat());
  }
  return entries;
}

/** Selects the rows of a prefix after a row; all of them if it is null. */
export function rowsAfter(prefix: Deno.KvKey, row: Deno.KvKey | null): Deno.KvListSelector {
  // `true` sorts after every other key part.
  return row === null ? { prefix } : { prefix, start: [...row, true] };
}

/**
 * Records the identities of the files of a ledger that was just opened. A process can keep writing to
 * a file that was deleted, moved or replaced: every commit succeeds and is lost when the process ends.
 * Comparing the names with the open files takes microseconds.
 *
 * @param location the ledger's name, which may be a link
 * @param path the database file itself; the log and the lock file are next to it
 * @returns a check that the same files are still there
 */
export function watchFiles(location: string, path: string): () => boolean {
  const paths = [location, logOf(path), lockOf(path)];
  const opened = paths.map(identityOf);
  return () => {
    try {
      return paths.every((path, at) => identityOf(path) === opened[at]);
    } catch {
      return false;
    }
  };
}

/** Returns the identity of the file found under a path, constant for the file's lifetime. */
function identityOf(path: string): string {
  const { dev, ino } = Deno.statSync(path);
  return `${dev} ${ino}`;
}

/** A key that never exists: deleting it is a write without an effect. */
const NOTHING = keys.pending("open", "");

/**
 * Writes that find out whether failing commits succeed again: their distance, the time after which
 * the store removes their row, and its bytes. A smaller one finds space on a disk that is too full
 * for a call.
 */
const PROBE = { pauseMs: 1_000, keptMs: 60_000, bytes: 32_768 } as const;

/**
 * Creates a check that the ledger's files are in place, a read succeeds in time, and commits do not
 * fail. While the latest commit failed, it writes a row of its own, at most once a second.
 *
 * @param now monotonic clock
 */
export function createReadiness(store: Store, now: () => number): () => Promise<boolean> {
  const { writer, deadlines } = store;
  let probedMs = -Infinity;
  return async () => {
    if (!store.inPlace()) return false;
    try {
      await inTime(getMany(store, [keys.firstTeam()]), deadlines);
      if (writer.metrics.isFailing && now() - probedMs >= PROBE.pauseMs) {
        probedMs = now();
        const value = new Uint8Array(PROBE.bytes);
        await writer.commit({ sets: [{ key: keys.probe(), value, expireIn: PROBE.keptMs }] });
      }
      return !writer.metrics.isFailing;
    } catch {
      return false;
    }
  };
}

/** Returns whether the store reads and writes; if so, a failed job caused its own failure. */
export async function isAlive(store: Store): Promise<boolean> {
  try {
    await getMany(store, [keys.firstTeam()]);
    await store.writer.commit({ deletes: [NOTHING] });
    return true;
  } catch {
    return false;
  }
}

/** Maximum rows per read of the runtime; each read is one snapshot. */
const ROWS_PER_READ_MAX = 500;

/** Reads the rows of a range in key order; up to 500 rows are one snapshot. */
export async function listRows<T = unknown>(
  store: Store,
  range: Deno.KvListSelector,
  options: Pick<Deno.KvListOptions, "limit" | "reverse"> = {},
): Promise<Deno.KvEntry<T>[]> {
  throwIfEnded();
  const rows: Deno.KvEntry<T>[] = [];
  try {
    for await (const row of store.reader.list<T>(range, batched(options))) {
      // Check for an abort between two reads of the runtime.
      if (rows.push(row) % ROWS_PER_READ_MAX === 0 && isEnded()) break;
    }
  } catch (error) {
    throw unavailable("list", error);
  }
  countRead(rows);
  throwIfEnded();
  return rows;
}

/** Iterates over the rows of a range, for ranges that may exceed memory. */
export async function* eachRow<T = unknown>(
  store: Store,
  range: Deno.KvListSelector,
): AsyncGenerator<Deno.KvEntry<T>> {
  try {
    yield* store.reader.list<T>(range, batched({}));
  } catch (error) {
    throw unavailable("list", error);
  }
}

/**
 * Yields the distinct key prefixes that are `parts` longer than `prefix`: one read each, however
 * many keys there are.
 */
export async function* namesBelow(
  store: Store,
  prefix: Deno.KvKey,
  parts: number,
): AsyncGenerator<Deno.KvKey> {
  // `true` sorts after every other key part.
  const end = [...prefix, true];
  let start: Deno.KvKey = prefix;
  while (true) {
    const [first] = await listRows(store, { start, end }, { limit: 1 });
    if (first === undefined) return;
    const name = first.key.slice(0, prefix.length + parts);
    yield name;
    start = [...name, true];
  }
}

function batched(options: Deno.KvListOptions): Deno.KvListOptions {
  return { ...options, batchSize: Math.min(options.limit ?? Infinity, ROWS_PER_READ_MAX) };
}

/** The sets that store a text as a blob. */
export interface BlobWrite {
  /** Sets for the caller's own commit. */
  readonly sets: NonNullable<Write["sets"]>;
  /** Chunks that do not fit there; they are staged first, see `runs/staging.ts`. */
  readonly staged: NonNullable<Write["sets"]>;
}

/** Prepares a text for a key of a run. */
export function blobWrite(team: TeamId, run: RunId, key: Deno.KvKey, text: string): BlobWrite {
  const { heads: [head], chunks, staged } = blobRows(team, run, [packBlob(text, newRowName)]);
  return { sets: [...chunks, { key, value: head }], staged };
}

/** Rows of the blobs of one commit. */
export interface BlobRows {
  /** Values for the keys of the blobs, in their order. */
  readonly heads: readonly Uint8Array[];
  /** Further chunks for the same commit. */
  readonly chunks: readonly KvSet[];
  /** Chunks to stage before it. */
  readonly staged: readonly KvSet[];
}

/** Divides blobs into rows: if they exceed one commit, all their bytes are staged. */
export function blobRows(team: TeamId, run: RunId, packed: readonly Blob[]): BlobRows {
  const bytes = packed.reduce((sum, blob) => sum + bytesOf(blob), 0);
  const isStaged = bytes > COMMIT_BYTES_MAX;
  const blobs = isStaged ? packed.map((blob) => intoChunks(blob, newRowName)) : packed;
  const sets = blobs.flatMap(({ name, chunks }) =>
    chunks.map((value, i) => ({ key: keys.chunk(team, run, name, i), value }))
  );
  const heads = blobs.map(({ head }) => head);
  return { heads, chunks: isStaged ? [] : sets, staged: isStaged ? sets : [] };
}

function bytesOf({ head, chunks }: Blob): number {
  return chunks.reduce((sum, { length }) => sum + length, head.length);
}

/** Reads the text of a blob from its head; `null` if there is none. */
export async function readBlob(
  store: Store,
  team: TeamId,
  run: RunId,
  head: unknown,
): Promise<string | null> {
  if (!(head instanceof Uint8Array)) return null;
  // Nearly every text is one chunk and needs no further read.
  const pieces = head[1] === 0 ? [] : await getAll(store, chunkKeys(team, run, head));
  const text = unpackBlob(head, pieces.map(({ value }) => value as Uint8Array));
  countBytes(text.length);
  return text;
}

/** Returns the keys of a run value's further chunks; none if the value is not a blob. */
export function chunkKeys(team: TeamId, run: RunId, head: unknown): Deno.KvKey[] {
  if (!(head instanceof Uint8Array)) return [];
  const { name, count } = chunksOf(head);
  return Array.from({ length: count }, (_, i) => keys.chunk(team, run, name, i));
}

/** Wraps an error of the store. */
export function unavailable(action: string, error: unknown): StorageUnavailable {
  const message = error instanceof Error ? error.message : String(error);
  return new StorageUnavailable(`Cannot ${action}: ${message}`, { cause: error });
}
