/**
 * Stages chunks: stores them before the commit that makes them visible, for the rare write that one
 * commit cannot hold.
 *
 * A mark names the chunks. Each further commit of the write checks it, and the last one deletes it.
 * Whatever removes the chunks earlier removes the mark too, as the deletion of their run does: the
 * write then conflicts, and never names a chunk that was removed. What a killed process leaves is found
 * by its mark.
 *
 * @module
 */
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { groupsOf } from "./base/groups.ts";
import { keyParts, keys } from "./base/keys.ts";
import { newRowName } from "./base/names.ts";
import { listRows, type Store } from "./store.ts";
import type { KvSet, Write } from "./writer/write.ts";

/** Value of a mark. */
export interface StagedMark {
  /** Arrival of the call, unix milliseconds. */
  readonly at: number;
  /** Blobs that its chunks belong to, and their number. */
  readonly blobs: readonly (readonly [name: string, chunks: number])[];
}

/** Chunks per commit. */
const CHUNKS_PER_COMMIT = 10;

/** Staged chunks of one write. */
export class Staging {
  readonly #store: Store;
  readonly #team: TeamId;
  readonly #run: RunId;
  #chunks: readonly Deno.KvKey[] = [];
  /** Mark as it was stored; null while nothing is staged. */
  #mark: Deno.AtomicCheck | null = null;

  constructor(store: Store, team: TeamId, run: RunId) {
    [this.#store, this.#team, this.#run] = [store, team, run];
  }

  /**
   * Stores chunks; until the write is committed, no value names them.
   *
   * @param at arrival of the call, unix milliseconds
   */
  async put(chunks: readonly KvSet[], at: number): Promise<void> {
    const [first, ...others] = groupsOf(chunks, CHUNKS_PER_COMMIT);
    if (first === undefined) return;
    const [team, key] = [this.#team, keys.staged(this.#team, this.#run, newRowName())];
    this.#chunks = chunks.map(({ key }) => key);
    const mark = { key, value: { at, blobs: blobsOf(this.#chunks) } satisfies StagedMark };
    const versionstamp = await this.#store.writer.commit({ team, sets: [mark, ...first] });
    const checks = [this.#mark = { key, versionstamp }];
    for (const sets of others) {
      // Without its mark, the write will conflict too.
      if (await this.#store.writer.commit({ team, checks, sets }) === null) return;
    }
  }

  /** Adds to a write what makes the staged chunks its own. */
  joinTo(write: Write): Write {
    if (this.#mark === null) return write;
    const { checks = [], deletes = [] } = write;
    return {
      ...write,
      checks: [...checks, this.#mark],
      deletes: [...deletes, this.#mark.key],
    };
  }

  /** Notes that the write is committed. */
  keep(): void {
    this.#mark = null;
  }

  /** Removes what is staged, unless a commit whose answer was lost has stored the write. */
  async remove(): Promise<void> {
    const mark = this.#mark;
    if (mark === null) return;
    this.#mark = null;
    try {
      await removeStaged(this.#store, this.#team, mark, this.#chunks);
    } catch {
      // The store failed, which the caller knows from its write. The sweep removes the chunks.
    }
  }
}

/**
 * Removes what was staged by an instant for writes that were never committed. A wrong clock does no
 * harm: a write whose chunks are removed stages them again.
 */
export async function removeOldStaged(store: Store, beforeMs: number): Promise<void> {
  for (const row of await listRows<StagedMark>(store, { prefix: keys.allStaged() })) {
    if (row.value.at >= beforeMs) continue;
    await removeStaged(store, keyParts.chunk(row.key).team, row, stagedChunks(row));
  }
}

/** Returns the keys of the chunks that a mark names. */
export function stagedChunks({ key, value }: Deno.KvEntry<StagedMark>): Deno.KvKey[] {
  const { team, run } = keyParts.chunk(key);
  return value.blobs.flatMap(([name, chunks]) =>
    Array.from({ length: chunks }, (_, i) => keys.chunk(team, run, name, i))
  );
}

/** Removes chunks and their mark in one commit; nothing if the mark was removed. */
async function removeStaged(
  store: Store,
  team: TeamId,
  mark: Deno.AtomicCheck,
  chunks: readonly Deno.KvKey[],
): Promise<void> {
  await store.writer.commit({ team, checks: [mark], deletes: [mark.key, ...chunks] });
}

function blobsOf(chunks: readonly Deno.KvKey[]): StagedMark["blobs"] {
  const counts = new Map<string, number>();
  for (const key of chunks) {
    const name = keyParts.blob(key);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts];
}
