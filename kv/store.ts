/**
 * The open store: a handle to write with, a handle to read with, and blobs over both.
 *
 * @module
 */
import type { Deadlines } from "../domain/core/deadlines.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import type { Memory } from "../domain/core/memory.ts";
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { type Blob, chunksOf, packBlob, unpackBlob } from "./base/blob.ts";
import { inTime } from "./base/deadline.ts";
import { groupsOf } from "./base/groups.ts";
import type { FileBytes } from "./base/files.ts";
import type { WorkerSignal } from "./writer/signal.ts";
import { keys } from "./base/keys.ts";
import { type BackEnd, COMMIT_BYTES_MAX, GET_MANY_KEYS_MAX } from "./base/limits.ts";
import { newRowName } from "./base/names.ts";
import { countBytes, countRead, isEnded, throwIfEnded } from "./base/read_scope.ts";
import { Reads } from "./base/reads.ts";
import { KeyedMutex } from "./base/keyed_mutex.ts";
import { createWriter, type Writer } from "./writer/writer.ts";
import type { Write } from "./writer/write.ts";

export { newRowName } from "./base/names.ts";

/** What the stores of runs and credentials are built on. */
export interface Store {
  /** Reads. On its own handle a read never queues behind commits. */
  readonly reader: Deno.Kv;
  /** Writes. */
  readonly writer: Writer;
  /** What one write may hold. */
  readonly limits: BackEnd;
  /** How long callers wait. */
  readonly deadlines: Deadlines;
  /** Rings when runs became dirty. */
  readonly workerSignal: WorkerSignal;
  /** Whether what is written is still found where the ledger is. */
  readonly inPlace: () => boolean;
  /** Sizes of the ledger's files; null where it has none. */
  readonly fileBytes: () => FileBytes | null;
  /** Locks for adding events to a run and for removing some, by its pending name. */
  readonly runLocks: KeyedMutex;
  /** Slots for the reads of requests. */
  readonly reads: Reads;
  /** How many bytes caches and queues may hold. */
  readonly memory: Memory;
}

/** What a store is built from. */
export interface StoreDeps
  extends
    Pick<Store, "limits" | "deadlines" | "workerSignal" | "inPlace" | "fileBytes" | "memory"> {
  /** Writes. */
  readonly kv: Deno.Kv;
  /** Reads; it sees what `kv` has committed. */
  readonly reader: Deno.Kv;
}

/** Builds a store over open handles. */
export function createStore({ kv, ...deps }: StoreDeps): Store {
  const { deadlines } = deps;
  return {
    ...deps,
    writer: createWriter({ kv, ...deps }),
    runLocks: new KeyedMutex(deadlines),
    reads: new Reads(deadlines),
  };
}

/** Reads values of one moment; at most 10 keys. */
export async function getMany(
  store: Store,
  wanted: readonly Deno.KvKey[],
): Promise<Deno.KvEntryMaybe<unknown>[]> {
  throwIfEnded();
  try {
    const entries = await store.reader.getMany(wanted);
    countRead(entries);
    return entries;
  } catch (error) {
    throw unavailable("read", error);
  }
}

/** Reads the entry at a key. */
export async function getEntry(store: Store, key: Deno.KvKey): Promise<Deno.KvEntryMaybe<unknown>> {
  const [entry] = await getMany(store, [key]);
  return entry ?? { key, value: null, versionstamp: null };
}

/** Reads the value at a key; null where there is none. */
export async function getValue<T>(store: Store, key: Deno.KvKey): Promise<T | null> {
  return (await getEntry(store, key)).value as T | null;
}

/** Returns what a counter at a key has come to. */
export function countOf({ value }: Deno.KvEntryMaybe<unknown>): number {
  return value instanceof Deno.KvU64 ? Number(value.value) : 0;
}

/** Keys read at once: each read of 10 of them is of one moment. */
const KEYS_AT_ONCE = 5 * GET_MANY_KEYS_MAX;

/** Reads any number of keys, in their order; more than 10 are not of one moment. */
export async function getAll(
  store: Store,
  wanted: readonly Deno.KvKey[],
): Promise<Deno.KvEntryMaybe<unknown>[]> {
  const entries: Deno.KvEntryMaybe<unknown>[] = [];
  for (const some of groupsOf(wanted, KEYS_AT_ONCE)) {
    const reads = groupsOf(some, GET_MANY_KEYS_MAX).map((each) => getMany(store, each));
    entries.push(...(await Promise.all(reads)).flat());
  }
  return entries;
}

/** Selects the rows below a prefix that follow a row; all of them where there is none. */
export function rowsAfter(prefix: Deno.KvKey, row: Deno.KvKey | null): Deno.KvListSelector {
  // `true` sorts after every other part of a key.
  return row === null ? { prefix } : { prefix, start: [...row, true] };
}

/** Whether the store is where it was and answers a read in time. */
export async function isReady(store: Store): Promise<boolean> {
  if (!store.inPlace()) return false;
  try {
    await inTime(getMany(store, [keys.firstTeam()]), store.deadlines);
    return true;
  } catch {
    return false;
  }
}

/** Rows the runtime reads at once, all of one moment: the most it takes. */
const ROWS_PER_READ_MAX = 500;

/** Reads the rows of a range, in key order; up to 500 of them are of one moment. */
export async function listRows<T = unknown>(
  store: Store,
  range: Deno.KvListSelector,
  options: Pick<Deno.KvListOptions, "limit" | "reverse"> = {},
): Promise<Deno.KvEntry<T>[]> {
  throwIfEnded();
  const rows: Deno.KvEntry<T>[] = [];
  try {
    for await (const row of store.reader.list<T>(range, batched(options))) {
      // Between two reads of the runtime, where ending takes effect.
      if (rows.push(row) % ROWS_PER_READ_MAX === 0 && isEnded()) break;
    }
  } catch (error) {
    throw unavailable("list", error);
  }
  countRead(rows);
  throwIfEnded();
  return rows;
}

/** Reads the rows of a range one by one, for ranges that may hold more than fits into memory. */
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

function batched(options: Deno.KvListOptions): Deno.KvListOptions {
  return { ...options, batchSize: Math.min(options.limit ?? Infinity, ROWS_PER_READ_MAX) };
}

/** A text as blob, and the writes that put it at a key. */
export interface BlobWrite {
  /** Sets to be part of the caller's own commit. */
  readonly sets: NonNullable<Write["sets"]>;
  /** Pieces that do not fit there; {@link stage} stores them before. */
  readonly staged: NonNullable<Write["sets"]>;
}

/** Prepares a text for a key of a run. */
export function blobWrite(team: TeamId, run: RunId, key: Deno.KvKey, text: string): BlobWrite {
  const blob: Blob = packBlob(text, newRowName);
  const head = { key, value: blob.head };
  if (blob.chunks.length === 0) return { sets: [head], staged: [] };
  const pieces = blob.chunks.map((value, i) => ({
    key: keys.chunk(team, run, blob.name, i),
    value,
  }));
  const bytes = blob.chunks.reduce((total, chunk) => total + chunk.length, blob.head.length);
  return bytes <= COMMIT_BYTES_MAX
    ? { sets: [...pieces, head], staged: [] }
    : { sets: [head], staged: pieces };
}

/** Pieces that one commit takes. */
const PIECES_PER_COMMIT = 10;

/**
 * Stores pieces ahead of the commit that makes them visible, for the rare text that fits no single
 * commit. Nobody can read them before: only the head knows their name.
 */
export async function stage(
  store: Store,
  team: TeamId,
  pieces: BlobWrite["staged"],
): Promise<void> {
  for (const sets of groupsOf(pieces, PIECES_PER_COMMIT)) {
    await store.writer.commit({ team, sets });
  }
}

/** Removes staged pieces whose commit was lost. */
export async function unstage(
  store: Store,
  team: TeamId,
  pieces: BlobWrite["staged"],
): Promise<void> {
  if (pieces.length > 0) await store.writer.commit({ team, deletes: pieces.map(({ key }) => key) });
}

/** Reads the text of a blob from its head, or `null` where there is none. */
export async function readBlob(
  store: Store,
  team: TeamId,
  run: RunId,
  head: unknown,
): Promise<string | null> {
  if (!(head instanceof Uint8Array)) return null;
  // Nearly every text is one piece, for which nothing else is read.
  const pieces = head[1] === 0 ? [] : await getAll(store, pieceKeys(team, run, head));
  const text = unpackBlob(head, pieces.map(({ value }) => value as Uint8Array));
  countBytes(text.length);
  return text;
}

/** Returns the keys of the further pieces of a value of a run; none for what is no blob. */
export function pieceKeys(team: TeamId, run: RunId, head: unknown): Deno.KvKey[] {
  if (!(head instanceof Uint8Array)) return [];
  const { name, count } = chunksOf(head);
  return Array.from({ length: count }, (_, i) => keys.chunk(team, run, name, i));
}

/** Wraps what the store threw. */
export function unavailable(action: string, error: unknown): StorageUnavailable {
  const message = error instanceof Error ? error.message : String(error);
  return new StorageUnavailable(`Cannot ${action}: ${message}`, { cause: error });
}
