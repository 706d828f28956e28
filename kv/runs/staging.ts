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
import { setTimeout as sleep } from "node:timers/promises";
import type { AppendDecision, NewBatch } from "../../domain/runs/ledger.ts";
import { type Blob, packBlob } from "../base/blob.ts";
import { encodeBatch, encodePrices } from "../base/codec.ts";
import { groupsOf } from "../base/reads.ts";
import { keyParts, keys, newRowName } from "../base/keys.ts";
import type { NotedParts } from "../recent_heads.ts";
import { type BlobRows, blobRows, listRows, type Store } from "../store.ts";
import type { KvSet, Write } from "../writer/group.ts";
import { commitParts } from "./commit_parts.ts";
import type { RunRef } from "./heads.ts";

/** Value of a mark. */
export interface StagedMark {
  /** Arrival of the call, unix milliseconds. */
  readonly at: number;
  /** Blobs that its chunks belong to, and their number. */
  readonly blobs: readonly (readonly [name: string, chunks: number])[];
}

const CHUNKS_PER_COMMIT = 10;

/** Staged chunks of one write. */
export class Staging {
  readonly run: RunRef;
  /** Mark as it was stored; null while nothing is staged. */
  #mark: Deno.KvEntry<StagedMark> | null = null;

  constructor(run: RunRef) {
    this.run = run;
  }

  /**
   * Stores chunks; until the write is committed, no value names them.
   *
   * @param at arrival of the call, unix milliseconds
   */
  async put(chunks: readonly KvSet[], at: number): Promise<void> {
    const [first, ...others] = groupsOf(chunks, CHUNKS_PER_COMMIT);
    if (first === undefined) return;
    const { store, team, id } = this.run;
    const key = keys.staged(team, id, newRowName());
    const value = { at, blobs: blobsOf(chunks) };
    const versionstamp = await store.writer.commit({ team, sets: [{ key, value }, ...first] });
    if (versionstamp === null) throw new TypeError("A write without checks conflicts");
    const checks = [this.#mark = { key, value, versionstamp }];
    for (const sets of others) {
      // Without its mark, the write will conflict too.
      if (await store.writer.commit({ team, checks, sets }) === null) return;
    }
  }

  /** Commits the write that names the staged chunks; null on a conflict. */
  commit(parts: NotedParts, write: Write): Promise<string | null> {
    const mark = this.#mark;
    if (mark === null) return commitParts(this.run, parts, write);
    const { checks = [], deletes = [] } = write;
    const owning = { ...write, checks: [...checks, mark], deletes: [...deletes, mark.key] };
    return commitParts(this.run, parts, owning).then((version) => {
      if (version !== null) this.#mark = null;
      return version;
    });
  }

  /** Removes what is staged, unless a commit whose answer was lost has stored the write. */
  async remove(): Promise<void> {
    const mark = this.#mark;
    if (mark === null) return;
    this.#mark = null;
    try {
      await removeStaged(this.run.store, mark);
    } catch {
      // The store failed, which the caller knows from its write. The sweep removes the chunks.
    }
  }
}

/**
 * Packs and stages batches once, although their commit may conflict with other batches of the run:
 * only their numbers change then.
 */
export class BatchRows extends Staging {
  readonly #receivedAt: number;
  /** Batches that are packed. */
  #batches: readonly NewBatch[] = [];
  #rows: BlobRows = { heads: [], chunks: [], staged: [] };

  constructor(run: RunRef, receivedAt: number) {
    super(run);
    this.#receivedAt = receivedAt;
  }

  /** Packs the batches of a decision and stages what its commit cannot hold. */
  async prepare({ batches }: AppendDecision): Promise<void> {
    if (this.#batches.length > 0) {
      if (contentOf(batches) === contentOf(this.#batches)) return;
      await this.remove();
    }
    const blobs: Blob[] = [];
    for (const { events, prices } of batches) {
      // Other calls have a turn between two large batches.
      if (blobs.length > 0) await sleep(0);
      blobs.push(packBlob(encodeBatch(events, this.#receivedAt, prices), newRowName));
    }
    this.#rows = blobRows(this.run.team, this.run.id, blobs);
    this.#batches = batches;
    await this.put(this.#rows.staged, this.#receivedAt);
  }

  /** Returns the sets of the batches, by the number of the first one. */
  setsFrom(first: number): KvSet[] {
    const { team, id } = this.run;
    const { heads, chunks } = this.#rows;
    const sets = heads.map((value, i) => ({ key: keys.batch(team, id, first + i), value }));
    return [...chunks, ...sets];
  }

  /** Removes what is staged, unless it is committed. */
  override async remove(): Promise<void> {
    this.#batches = [];
    await super.remove();
  }
}

/**
 * Removes what was staged by an instant for writes that were never committed. A wrong clock does no
 * harm: a write whose chunks are removed stages them again.
 */
export async function removeOldStaged(store: Store, beforeMs: number): Promise<void> {
  for (const row of await listRows<StagedMark>(store, { prefix: keys.allStaged() })) {
    if (row.value.at < beforeMs) await removeStaged(store, row);
  }
}

/** Returns the keys of the chunks that a mark names. */
export function stagedChunks({ key, value }: Deno.KvEntry<StagedMark>): Deno.KvKey[] {
  const { team, run } = keyParts.chunk(key);
  return value.blobs.flatMap(([name, chunks]) =>
    Array.from({ length: chunks }, (_, i) => keys.chunk(team, run, name, i))
  );
}

/** Removes a mark and its chunks in one commit; nothing if the mark was removed. */
async function removeStaged({ writer }: Store, row: Deno.KvEntry<StagedMark>): Promise<void> {
  const { team } = keyParts.chunk(row.key);
  await writer.commit({ team, checks: [row], deletes: [row.key, ...stagedChunks(row)] });
}

function blobsOf(chunks: readonly KvSet[]): StagedMark["blobs"] {
  const byBlob = Map.groupBy(chunks, ({ key }) => keyParts.blob(key));
  return Array.from(byBlob, ([name, ofBlob]) => [name, ofBlob.length]);
}

/** Returns what batches with the same events, at the same prices, have in common. */
function contentOf(batches: readonly NewBatch[]): string {
  return batches.map(({ events, prices }) =>
    `${events.map(({ id }) => id)} ${encodePrices(prices)}`
  ).join("\n");
}
