/**
 * The open store: a handle for writes, a handle for reads, and blobs over both.
 *
 * @module
 */
import type { Deadlines } from "../runtime/deadlines.ts";
import { compilePattern, patternBytes } from "../domain/checks/language/pattern.ts";
import type { Patterns } from "../domain/checks/program.ts";
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { type CronSlots, slotsOf } from "../domain/monitors/schedule.ts";
import { type Blob, chunksOf, intoChunks, packBlob, unpackBlob } from "./base/blob.ts";
import { COMMIT_BYTES_MAX } from "./base/limits.ts";
import { inTime } from "./base/retry.ts";
import type { fileBytesOf } from "./base/files.ts";
import { keys, newRowName } from "./base/keys.ts";
import { countBytes, getAll, getMany, READS, Reads, SEARCHES } from "./base/reads.ts";
import { RecentHeads } from "./recent_heads.ts";
import { KeyedMutex } from "../runtime/fair_slots.ts";
import { memo } from "../runtime/memory.ts";
import { GroupWriter, type Writer, type WriterDeps } from "./writer/writer.ts";
import type { KvSet, Write } from "./writer/group.ts";

export { newRowName } from "./base/keys.ts";
export {
  countOf,
  eachRow,
  findEntry,
  getAll,
  getEntry,
  getMany,
  getValue,
  listRows,
  namesBelow,
  rowsAfter,
  unavailable,
} from "./base/reads.ts";

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
